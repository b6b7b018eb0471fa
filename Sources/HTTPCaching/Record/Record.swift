public import Foundation
public import HTTPTypes

/// One HTTP exchange as it was received, never a model.
///
/// It holds the identity of its key, so that a collision of digests is seen. `Authorization`, `Cookie` and `Set-Cookie` are not
/// among its fields; secret query items are digested in its URL, `Location`, `Content-Location` and `Link`. Where it came over
/// redirects, `Cache-Control`, `Age` and `Vary` are made of all the responses on the way, and validators and `Expires` are left out.
public struct Record: Sendable, Hashable {
  public var head: Head
  /// The response's body, as received.
  public var body: Data

  public init(head: Head, body: Data) {
    self.head = head
    self.body = body
  }

  /// Everything but the body.
  public struct Head: Sendable, Hashable {
    /// ``RecordKey/identity`` of the key that it was stored under.
    public var identity: String
    /// The response's status.
    public var status: HTTPResponse.Status
    /// The response's fields, without those that are secret or belong to the connection.
    public var fields: HTTPFields
    /// When the request was sent (RFC 9111 §4.2.3, *request_time*).
    public var requestedAt: Date
    /// When the response was received (RFC 9111 §4.2.3, *response_time*).
    public var receivedAt: Date
    /// When it was declared stale; `nil` for never.
    public var invalidatedAt: Date?
    /// The model's name, where the body was encoded from a local model and not received; else `nil`.
    public var localModel: String?
    /// What the request's fields were that the response varies on; `nil` where it does not vary.
    public var variant: Variant?
    /// The digests of the other variants that are stored beside this one, oldest first; none where ``variant`` is `nil`.
    var otherVariants: [String] = []

    public init(
      identity: String, status: HTTPResponse.Status, fields: HTTPFields, requestedAt: Date, receivedAt: Date,
      invalidatedAt: Date? = nil, localModel: String? = nil, variant: Variant? = nil
    ) {
      self.identity = identity
      self.status = status
      self.fields = fields
      self.requestedAt = requestedAt
      self.receivedAt = receivedAt
      self.invalidatedAt = invalidatedAt
      self.localModel = localModel
      self.variant = variant
    }
  }
}

extension Record.Head {
  /// Whether both tell of one exchange, so that a model made from the one is the model of the other.
  package func isSameExchange(as other: Record.Head) -> Bool {
    receivedAt == other.receivedAt && requestedAt == other.requestedAt && identity == other.identity
      && localModel == other.localModel && variant == other.variant
  }
}
