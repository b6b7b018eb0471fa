package import Foundation
public import HTTPTypes
public import ReactorCore

/// The behaviour of an outbox.
///
/// ```swift
/// var outbox = OutboxConfiguration(storage: storage, mutations: [AddPost.self])
/// outbox.maximumAge = .seconds(7 * 86_400)
/// let layer = ModelLayer(baseURL: api, extensions: [.outbox(outbox)])
/// ```
public struct OutboxConfiguration: Sendable {
  /// The store of the entries. Default: ``MemoryOutboxStorage``, whose entries are gone with the
  /// process.
  public var storage: any OutboxStorage = MemoryOutboxStorage()

  /// The types of the mutations that an earlier process may have left. Default: none.
  ///
  /// ```swift
  /// outbox.mutations = [AddPost.self, Rename.self]
  /// ```
  ///
  /// An entry of another type is listed as unreadable and kept.
  public var mutations: [any Mutation.Type] = []

  /// The time for which the server remembers an idempotency key. Default: 24 hours.
  ///
  /// ```swift
  /// outbox.idempotencyWindow = .zero  // the server ignores the key
  /// ```
  ///
  /// Within it, a `POST` or `PATCH` whose outcome is unknown is sent again, with the same bytes and
  /// the same key. With zero, requests have no key, and such an entry becomes unresolved. The time
  /// is saved with each entry.
  public var idempotencyWindow: Duration = .seconds(86_400)

  /// The name of the field with the key. Default: `Idempotency-Key`.
  ///
  /// ```swift
  /// if let field = HTTPField.Name("X-Idempotency-Key") { outbox.idempotencyField = field }
  /// ```
  public var idempotencyField: HTTPField.Name = .idempotencyKey

  /// The form of the keys in ``idempotencyField``. Default: `bare`, as most servers expect it.
  ///
  /// An entry keeps the value that it was first sent with: a server that compares text would take
  /// another form for another request, and carry it out again.
  public var idempotencyKeyForm: Backend.IdempotencyKeyForm = .bare

  /// The number of attempts and the waits between them. Default: 20 attempts, with waits of up to 5
  /// minutes.
  ///
  /// ```swift
  /// outbox.retry = RetryPolicy(attempts: 5, firstDelay: .seconds(2))
  /// ```
  ///
  /// Attempts that could not be sent, as without connectivity, do not count. An entry whose
  /// attempts are used up becomes unresolved. The flow's own retry does not apply to an outbox.
  public var retry: RetryPolicy = .outbox

  /// The age at which an entry that was never sent is refused. Default: `Duration.never`.
  ///
  /// ```swift
  /// outbox.maximumAge = .seconds(7 * 86_400)  // refuse changes that waited for a week
  /// ```
  public var maximumAge: Duration = .never

  /// The number of lanes that send at once. Default: 4. A value below 1 counts as 1.
  ///
  /// ```swift
  /// outbox.concurrentLanes = 1  // one request at a time, whatever its lane
  /// ```
  public var concurrentLanes = 4

  /// A Boolean value that indicates whether entries are sent without a call. Default: `true`.
  ///
  /// ```swift
  /// outbox.sendsByItself = false  // an extension saves, and the app sends
  /// ```
  ///
  /// With `false`, entries are sent only while ``Outbox/drain(within:)`` or
  /// ``Outbox/drain(until:within:)`` runs. Use that in a tool or an extension that submits for
  /// another process to send.
  public var sendsByItself = true

  /// Returns the identity of a new entry, and the keys. A simulation sets its own.
  package var makeID: @Sendable () -> UUID = { .random() }

  /// Creates a configuration with all defaults.
  public init() {}

  /// Creates a configuration with a store.
  ///
  /// ```swift
  /// let outbox = OutboxConfiguration(
  ///   storage: FileOutboxStorage(directory: support), mutations: [AddPost.self, RenamePost.self])
  /// ```
  public init(storage: any OutboxStorage, mutations: [any Mutation.Type]) {
    self.storage = storage
    self.mutations = mutations
  }
}

extension OutboxConfiguration {
  /// Returns the field's value of a new key.
  func newKey() -> String {
    let key = makeID().uuidString
    return idempotencyKeyForm.value(of: key) ?? key
  }

  /// Returns the field's value of a program's own key.
  ///
  /// - Throws: `ReactorError.invalidResource` for a key that the field cannot contain.
  func value(ofKey key: String) throws(ReactorError) -> String {
    guard !key.isEmpty, let value = idempotencyKeyForm.value(of: key) else {
      throw .invalidResource("the idempotency key must be given once, and consist of visible ASCII characters")
    }
    return value
  }
}

extension HTTPField.Name {
  /// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
  static let idempotencyKey: HTTPField.Name = HTTPField.Name("Idempotency-Key") ?? .expect
}

extension UUID {
  /// Returns a random UUID (RFC 9562 §5.4). On Linux, Foundation opens a file for each `UUID()`,
  /// which costs a tenth of a submission.
  fileprivate static func random() -> UUID {
    var generator = SystemRandomNumberGenerator()
    let words: (UInt64, UInt64) = (generator.next(), generator.next())
    return withUnsafeBytes(of: words) { bytes in
      var uuid = bytes.loadUnaligned(as: uuid_t.self)
      uuid.6 = uuid.6 & 0x0F | 0x40
      uuid.8 = uuid.8 & 0x3F | 0x80
      return UUID(uuid: uuid)
    }
  }
}
