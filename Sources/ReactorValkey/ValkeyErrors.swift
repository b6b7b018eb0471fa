#if Valkey
  import Foundation
  import NIOCore
  import NIOPosix
  import NIOSSL
  import ReactorFleet

  extension FleetError {
    /// The error that a server's text means.
    init(server text: String) {
      let prefix = String(text.prefix { $0 != " " })
      switch prefix {
      case "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "UNBLOCKED": self = .unavailable(text)
      case "OOM", "READONLY", "MISCONF", "NOREPLICAS": self = .readOnly(text)
      case "WRONGTYPE": self = .wrongData(text)
      // It passes once others leave.
      case "ERR" where text.hasPrefix("ERR max number of clients"): self = .unavailable(text)
      default: self = .misconfigured(text)
      }
    }

    var reason: String {
      switch self {
      case .unavailable(let reason), .readOnly(let reason), .misconfigured(let reason), .wrongData(let reason): reason
      @unknown default: "\(self)"
      }
    }
  }

  extension ValkeyConnection {
    /// Returns an error of NIO as one of the fleet.
    static func fleetError(_ error: any Error) -> FleetError {
      switch error {
      case let error as FleetError: error
      case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: .misconfigured("TLS: \(tlsReason(error))")
      case let error as IOError: .unavailable(String(cString: strerror(error.errnoCode)))
      case let error as NIOConnectionError:
        .unavailable(
          error.connectionErrors.first.map { fleetError($0.error) }.flatMap(\.reason)
            ?? "the host \(error.host) has no address")
      case is ChannelError: .unavailable("the connection was closed")
      default: .unavailable("\(error)")
      }
    }

    /// Returns the cause that BoringSSL names among its numbers and files, in words.
    private static func tlsReason(_ error: any Error) -> String {
      if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
        return "the certificate of the server is for another host"
      }
      let words = "\(error)".firstMatch(of: /OPENSSL_internal:([A-Z0-9_ ]+?)(?: at |\W|$)/).map { String($0.1) }
      guard let words else { return "\(error)" }
      switch words {
      case "CERTIFICATE_VERIFY_FAILED":
        return
          "the certificate of the server has ended, or its authority is not trusted; give the file of the authority"
      case "WRONG_VERSION_NUMBER": return "the server does not speak TLS at this port"
      case "TLSV1_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_HANDSHAKE_FAILURE":
        return "the server asks for a certificate of this program; give its file, and that of its key"
      case "TLSV1_ALERT_UNKNOWN_CA", "SSLV3_ALERT_BAD_CERTIFICATE", "SSLV3_ALERT_CERTIFICATE_UNKNOWN":
        return "the server does not trust the certificate of this program"
      default: return words.lowercased().replacing("_", with: " ")
      }
    }
  }

  extension ValkeyAddress {
    /// The context of TLS. Files are read each time, since certificates are renewed.
    ///
    /// - Throws: `FleetError.misconfigured(_:)`, with the path of a file that cannot be used.
    func tlsContext() throws(FleetError) -> NIOSSLContext? {
      guard isEncrypted else { return nil }
      var configuration = TLSConfiguration.makeClientConfiguration()
      if let trustRoots { configuration.trustRoots = .file(trustRoots) }
      if let certificate {
        let chain = try Self.using(certificate) { try NIOSSLCertificate.fromPEMFile($0) }
        configuration.certificateChain = chain.map { .certificate($0) }
        let key = try Self.using(privateKey ?? certificate) { try NIOSSLPrivateKey(file: $0, format: .pem) }
        configuration.privateKey = .privateKey(key)
      }
      return try Self.using(trustRoots ?? certificate ?? host) { _ in try NIOSSLContext(configuration: configuration) }
    }

    private static func using<Value>(_ path: String, _ body: (String) throws -> Value) throws(FleetError) -> Value {
      do { return try body(path) } catch {
        throw .misconfigured("TLS: \(path) cannot be used; give files in PEM that this program may read")
      }
    }
  }
#endif
