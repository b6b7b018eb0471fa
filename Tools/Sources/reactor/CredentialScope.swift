import HTTPTypes
import ReactorCore

/// Whose records a request may see, where nobody says who is signed in.
enum CredentialScope {
  private static let fields: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]

  /// One scope per set of credentials, named by a digest of them; the shared one where there are none.
  static func scope(of headers: HTTPFields) -> Scope {
    let credentials = headers.filter { fields.contains($0.name) }
    guard !credentials.isEmpty else { return .shared }
    let key = RecordKey(method: .get, url: "credentials", identityFields: credentials)
    return Scope("credentials-\(key.digest)")
  }

  /// The fields that tell one representation from another.
  static func identityHeaders(of headers: HTTPFields) -> Set<HTTPField.Name> {
    Set(headers.map(\.name)).subtracting(fields)
  }
}
