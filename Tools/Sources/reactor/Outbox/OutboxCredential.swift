import ArgumentParser
import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox

/// Header fields that are added to each request to one origin when it is sent, and never saved.
struct OutboxCredential: Sendable {
  /// The variable of the environment with the value of `Authorization`.
  static let variable = "REACTOR_AUTHORIZATION"

  /// The advice after a 401.
  static let missing =
    "the server wants a credential: set \(variable), or use reactor outbox drain --header 'Authorization: …'"

  let fields: [HTTPField]
  /// The scheme, host and port of the requests that get the fields.
  let origin: String

  /// Adds the fields to a request to the origin.
  func sign(_ request: inout HTTPRequest) {
    guard request.url.flatMap(Self.origin) == origin else { return }
    for field in fields { request.headerFields[field.name] = nil }
    for field in fields { request.headerFields.append(field) }
  }

  /// Returns the scheme, host and port of a URL; `nil` if it has no host.
  static func origin(_ url: URL) -> String? {
    guard let scheme = url.scheme?.lowercased(), let host = url.host()?.lowercased() else { return nil }
    return "\(scheme)://\(host):\(url.port ?? (scheme == "https" ? 443 : 80))"
  }

  /// Returns the field of the environment's variable; `nil` if it is not set.
  ///
  /// - Throws: ``ExitStatus`` for a value that no field can have.
  static func ofEnvironment(_ environment: [String: String]) throws(ExitStatus) -> HTTPField? {
    guard let value = environment[variable], !value.isEmpty else { return nil }
    guard HTTPField.isValidValue(value) else {
      throw ExitStatus(code: ExitStatus.usage, text: "\(variable) has a character that a header cannot contain")
    }
    return HTTPField(name: .authorization, value: value)
  }

  /// Returns the credential for the entries of an outbox; `nil` if there are no fields, or nothing
  /// is sent.
  ///
  /// - Parameter origin: The origin; `nil` stands for the entries' origin.
  /// - Throws: ``ExitStatus`` if the entries have several.
  static func `for`(
    _ entries: [Outbox.Entry], _ fields: [HTTPField], origin: String?
  ) throws(ExitStatus) -> OutboxCredential? {
    guard !fields.isEmpty else { return nil }
    if let origin { return OutboxCredential(fields: fields, origin: origin) }
    let origins = Set(entries.compactMap { $0.url.flatMap { URL(string: $0) }.flatMap(Self.origin) })
    guard origins.count < 2 else {
      throw ExitStatus(
        code: ExitStatus.usage,
        text: "requests to \(origins.sorted().joined(separator: " and ")) wait, and the credential is for one of them; "
          + "name it with --origin")
    }
    return origins.first.map { OutboxCredential(fields: fields, origin: $0) }
  }
}

/// The value of `drain --header`.
enum CredentialArgument {
  /// The fields that belong to one request.
  private static let own: Set<String> = [
    "idempotency-key", "if-match", "if-none-match", "content-type", "content-length", "transfer-encoding", "host",
  ]

  static func parse(_ text: String) throws -> HTTPField {
    let field = try HeaderArgument.parse(text)
    guard !own.contains(field.name.canonicalName) else {
      throw ValidationError("\(field.name) belongs to one request; give it to reactor send")
    }
    return field
  }
}

/// The value of `--origin`.
enum OriginArgument {
  static func parse(_ text: String) throws -> String {
    guard let origin = OutboxCredential.origin(try URLArgument.parse(text)) else {
      throw ValidationError("write an origin as https://host or https://host:port")
    }
    return origin
  }
}
