import HTTPTypes
import ReactorCore

/// The scope of a request's records, derived from its credentials. The command knows no signed-in
/// user.
enum CredentialScope {
  private static let fields: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]

  /// Returns a scope for each set of credentials, named by their digest; the shared scope without
  /// any.
  static func scope(of headers: HTTPFields) -> Scope {
    let credentials = headers.filter { fields.contains($0.name) }
    guard !credentials.isEmpty else { return .shared }
    let key = RecordKey(method: .get, url: "credentials", identityFields: credentials)
    return Scope("credentials-\(key.digest)")
  }

  /// Returns the fields that distinguish one representation from another.
  static func identityHeaders(of headers: HTTPFields) -> Set<HTTPField.Name> {
    Set(headers.map(\.name)).subtracting(fields)
  }
}
