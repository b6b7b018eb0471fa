package import Foundation
import HTTPCaching

/// A submitted mutation and its state.
package struct OutboxEntry: Sendable, Hashable, Identifiable {
  package enum State: String, Sendable, CaseIterable {
    case waiting, sending, unknown, conflicted, refused, unresolved, accepted
  }

  package let id: UUID
  /// The position in the order of the scope; zero until the entry is stored.
  package var number: UInt64 = 0
  package var lane: String
  package var state: State = .waiting
  /// The name of the mutation's type.
  package var name: String
  /// The version of the mutation's type.
  package var version: Int
  /// The JSON of the mutation.
  package var arguments: Data
  package var submittedAt: Date
  /// The number of attempts that may have reached the server under the current key.
  package var attempts = 0
  /// The number of attempts since then that could not be sent.
  package var unsent = 0
  /// A Boolean value that indicates whether the server may have carried out an attempt whose
  /// outcome is unknown.
  package var isInDoubt = false
  package var firstAttemptAt: Date?
  /// The earliest time of the next attempt, for a backoff or `Retry-After`.
  package var notBefore: Date?
  /// The key of the next attempt; `nil` if the method is idempotent or the window is zero.
  package var idempotencyKey: String?
  /// The seconds for which the server remembers the key.
  package var idempotencyWindow: Double
  /// The request, made when the entry's turn comes and saved before it is sent.
  package var request: FrozenRequest?
  /// The outcome of the last attempt.
  package var outcome: LastOutcome?
  /// The number of rebases that were made.
  package var conflicts = 0
  /// The time at which the entry was accepted, refused or left unresolved.
  package var endedAt: Date?
  /// The temporary ids that other entries were to supply when this one was submitted. This entry
  /// never supplies them, whatever its position.
  package var awaited: Set<String> = []
  /// The time until which its draft applies to every newer value, although the server has accepted
  /// the entry; `nil` once that is over.
  package var draftStaysUntil: Date?

  package init(
    id: UUID, lane: String, name: String, version: Int, arguments: Data, submittedAt: Date, idempotencyWindow: Double
  ) {
    self.id = id
    self.lane = lane
    self.name = name
    self.version = version
    self.arguments = arguments
    self.submittedAt = submittedAt
    self.idempotencyWindow = idempotencyWindow
  }
}

extension OutboxEntry {
  /// Returns the entry with the temporary ids that others were to supply when it was submitted.
  func awaiting(_ temporaries: Set<String>) -> OutboxEntry {
    var entry = self
    entry.awaited = temporaries
    return entry
  }
}

/// A request in its final bytes. It contains no secret.
package struct FrozenRequest: Sendable, Hashable {
  package struct Field: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  package var method: String
  /// The absolute URL.
  package var url: String
  package var fields: [Field]
  package var body: Data?
  /// A Boolean value that indicates whether the body is a form, which the storage keeps for the
  /// entry.
  package var hasForm = false
  /// A Boolean value that indicates whether the entry's idempotency key is sent with the request.
  package var isKeyed: Bool

  package init(method: String, url: String, fields: [Field] = [], body: Data? = nil, isKeyed: Bool = false) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.isKeyed = isKeyed
  }
}

extension FrozenRequest {
  /// Makes the body a form, which the storage keeps for the entry.
  mutating func sendsForm(contentType: String) {
    hasForm = true
    fields.removeAll { $0.name.lowercased() == "content-type" }
    fields.append(Field(name: "Content-Type", value: contentType))
  }

  /// The fields that hold credentials, in lower case. Middlewares add them when the request is
  /// sent.
  package static let secretFields: Set<String> = ["authorization", "proxy-authorization", "cookie"]

  /// Returns the part of the request that is a secret, described without the secret itself.
  ///
  /// - Parameter names: The names of secret query items, in any case.
  /// - Returns: `nil` if nothing is secret.
  package func secret(names: Set<String>) -> String? {
    if let field = fields.first(where: { Self.secretFields.contains($0.name.lowercased()) }) {
      return "the field \(field.name)"
    }
    return SecretQuery.hasSecret(url, names: names) ? "a query item, user or password of the URL" : nil
  }
}

/// The outcome of an attempt.
package struct LastOutcome: Sendable, Hashable {
  /// The part of a refusal that explains it.
  package struct Refusal: Sendable, Hashable {
    package var contentType: String?
    /// The body, if it is a JSON object of at most ``longest`` bytes; `nil` for any other. Other
    /// texts explain nothing to a program, and may repeat the credential of the request.
    package var body: Data?
    /// The number of bytes of the body.
    package var size: Int

    /// The size in bytes of the largest body that is saved.
    package static let longest = 4096

    package init(contentType: String?, body: Data) {
      // A server may send a field of any length.
      self.contentType = contentType.flatMap { $0.utf8.count <= 256 ? $0 : nil }
      let start = body.first { !" \t\r\n".utf8.contains($0) }
      self.body = body.count <= Self.longest && start == UInt8(ascii: "{") ? body : nil
      size = body.count
    }
  }

  package var kind: SendOutcome.Kind
  /// The status of the answer; `nil` if no response arrived.
  package var status: Int?
  /// A short text without secrets.
  package var reason: String
  package var date: Date
  /// The server's explanation of a refusal; `nil` for any other outcome.
  package var refusal: Refusal?

  package init(_ kind: SendOutcome.Kind, status: Int? = nil, reason: String, date: Date) {
    self.kind = kind
    self.status = status
    self.reason = reason
    self.date = date
  }
}

/// An entry that cannot be encoded or decoded.
package enum OutboxEntryError: Error, Hashable {
  /// The bytes end early.
  case truncated
  /// The bytes are damaged, or not an entry's.
  case corrupt(String)
  /// A newer release wrote the entry, in this format.
  case newerFormat(UInt64)
  /// The encoded entry is larger than a store accepts; both sizes are in bytes.
  case tooLarge(size: Int, limit: Int)
  /// The request contains a secret, and nothing is encoded. The text names only its location.
  case secret(String)
}

extension OutboxEntryError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .truncated: "the entry is damaged: it ends early"
    case .corrupt(let reason): "the entry is damaged: \(reason)"
    case .newerFormat(let format): "a newer release wrote the entry, in format \(format); update this program"
    case .tooLarge(let size, let limit): "the entry has \(size) bytes, and the storage takes at most \(limit)"
    case .secret(let place): "the request contains a secret, \(place)"
    }
  }
}
