public import Foundation
public import ReactorCore

extension ModelLayer {
  /// Creates a layer over a base URL, with an outbox.
  ///
  /// Entries that an earlier process has left are read and sent at once. Reads and requests of the
  /// layer wait until they are read, so that no value is shown without its drafts.
  ///
  /// - Parameters:
  ///   - persistence: The durable store of records. `nil`, the default, stores models in memory
  ///     only.
  ///   - reachability: The source of connectivity. `Reachability.always` tries every request.
  ///   - scope: The owner of the records and the entries, usually a user. Default: `Scope.shared`.
  ///   - outbox: The store of the entries and the behaviour of the outbox.
  public convenience init(
    baseURL: URL, transport: any Transport = URLSessionTransport(), persistence: (any Persistence)? = nil,
    reachability: any Reachability = SystemReachability(), scope: Scope = .shared,
    configuration: ReactorConfiguration = .init(), outbox: OutboxConfiguration
  ) {
    self.init(
      backend: Backend(baseURL: baseURL, transport: transport, reachability: reachability), persistence: persistence,
      scope: scope, configuration: configuration, outbox: outbox)
  }

  /// Creates a layer over a backend, with an outbox.
  ///
  /// - Parameters:
  ///   - persistence: The durable store of records. `nil`, the default, stores models in memory
  ///     only.
  ///   - scope: The owner of the records and the entries, usually a user. Default: `Scope.shared`.
  ///   - outbox: The store of the entries and the behaviour of the outbox.
  public convenience init(
    backend: Backend, persistence: (any Persistence)? = nil, scope: Scope = .shared,
    configuration: ReactorConfiguration = .init(), outbox: OutboxConfiguration
  ) {
    self.init(backend: backend, persistence: persistence, scope: scope, configuration: configuration)
    let made = Outbox(outbox, layer)
    _ = layer.attachment { made }
    made.read()
  }

  /// The outbox of the layer. A layer that was made without one has an outbox in memory.
  public var outbox: Outbox {
    let attachment = layer.attachment { [layer] in Outbox(OutboxConfiguration(), layer) }
    // Only an outbox is ever attached.
    return attachment as? Outbox ?? Outbox(OutboxConfiguration(), layer)
  }

  /// Shows the drafts of a mutation, saves it, and sends it when its turn comes.
  ///
  /// ```swift
  /// let submission = try await layer.submit(AddPost(title: "Hello"))
  /// let post = try await submission.answer()
  /// ```
  ///
  /// The drafts are shown before the method suspends. It returns when the mutation is saved: from
  /// then on, with a durable store, it survives the process. Without connectivity it waits.
  ///
  /// Cancelling the caller withdraws nothing; see ``Outbox/withdraw(_:)``.
  ///
  /// - Throws: `ReactorError.persistence` if the mutation could not be saved. It is not shown
  ///   any more, and will not be sent. `ReactorError.invalidResource` if it cannot be
  ///   encoded, is larger than an entry may be, or drafts a resource that cannot be requested.
  @discardableResult
  public func submit<M: Mutation>(_ mutation: M) async throws(ReactorError) -> Submission<M.Answer> {
    try await outbox.submit(mutation, in: layer)
  }
}
