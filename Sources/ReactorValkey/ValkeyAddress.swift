#if Valkey
  import Foundation
  public import ReactorFleet

  /// The address of a server, and the credentials for it.
  ///
  /// ```swift
  /// var address = try ValkeyAddress("rediss://reactor:secret@cache.internal:6380")
  /// address.trustRoots = "/etc/reactor/authorities.pem"
  /// ```
  ///
  /// No description of it has the password.
  public struct ValkeyAddress: Sendable, Hashable {
    /// The name or the IP address of the server.
    public var host: String
    /// The port. Default: 6379.
    public var port: Int
    /// A Boolean value that indicates whether the connection is encrypted, and the server's
    /// certificate and name are verified.
    public var isEncrypted: Bool
    /// The user; `nil` for `default`.
    public var user: String?
    /// The password; `nil` without one.
    public var password: String?
    /// The number of the database. Default: 0.
    public var database: Int
    /// The path of a file with the certificates of the authorities that are trusted, in PEM; `nil`
    /// trusts the system's authorities.
    public var trustRoots: String?
    /// The path of a file with this program's certificate and its chain, in PEM; `nil` without a
    /// client certificate.
    public var certificate: String?
    /// The path of a file with the key of ``certificate``, in PEM; `nil` if that file has it.
    public var privateKey: String?

    /// Creates an address from its parts.
    public init(
      host: String, port: Int = 6379, isEncrypted: Bool = false, user: String? = nil, password: String? = nil,
      database: Int = 0, trustRoots: String? = nil, certificate: String? = nil, privateKey: String? = nil
    ) {
      (self.host, self.port, self.isEncrypted) = (host, port, isEncrypted)
      (self.user, self.password, self.database, self.trustRoots) = (user, password, database, trustRoots)
      (self.certificate, self.privateKey) = (certificate, privateKey)
    }

    /// Reads a URL such as `redis://cache.internal`, `rediss://user:password@cache.internal:6380`
    /// or `valkey://127.0.0.1/1`.
    ///
    /// ```swift
    /// let address = try ValkeyAddress("redis://cache.internal")
    /// ```
    ///
    /// - Throws: `FleetError.misconfigured(_:)`, without the password.
    public init(_ text: String) throws(FleetError) {
      guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(), let host = url.host,
        !host.isEmpty, let isEncrypted = Self.schemes[scheme]
      else {
        throw .misconfigured("the address is not a URL such as redis://host:6379 or rediss://user:password@host:6380")
      }
      let path = url.path.drop { $0 == "/" }
      guard url.query == nil, url.fragment == nil, let database = path.isEmpty ? 0 : Int(path), database >= 0 else {
        throw .misconfigured(
          "after the host and the port of the address only the number of a database may follow, as in /1")
      }
      let user = url.user.flatMap { $0.isEmpty ? nil : $0 }
      self.init(
        host: host.trimmingCharacters(in: ["[", "]"]), port: url.port ?? 6379, isEncrypted: isEncrypted, user: user,
        password: url.password, database: database)
    }

    private static let schemes = ["redis": false, "valkey": false, "rediss": true, "valkeys": true]
  }

  extension ValkeyAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The host and the port.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    public var debugDescription: String { description }
    /// Only the host and the port.
    public var customMirror: Mirror { Mirror(self, children: ["address": description]) }
  }
#endif
