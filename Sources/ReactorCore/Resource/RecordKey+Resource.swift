import Foundation
import HTTPTypes

extension RecordKey {
  /// Under what `resource` is known. Without a backend there is no base URL; the path stands for itself.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)``.
  init(
    _ resource: Resource, backend: Backend?, scope: Scope, secretQueryItems: Set<String>,
    digests: SecretDigests
  ) throws(ReactorError) {
    if let name = resource.identityHeaders.first(where: StoredFields.secret.contains) {
      throw .invalidResource("\(name) cannot be an identity header: say whose data it is with the layer's scope")
    }
    let url = if let backend { try backend.request(for: resource).absoluteURL } else { try resource.pathAndQuery() }
    self.init(
      method: resource.method, url: url,
      body: resource.body,
      identityFields: HTTPFields(resource.headers.filter { resource.identityHeaders.contains($0.name) }),
      scope: scope, secretQueryItems: secretQueryItems, digests: digests)
  }
}
