public import ReactorCore

extension ModelLayer.Extension {
  /// The extension that gives a layer an outbox.
  ///
  /// ```swift
  /// let outbox = OutboxConfiguration(
  ///   storage: FileOutboxStorage(directory: support), mutations: [AddPost.self, RenamePost.self])
  /// let layer = ModelLayer(baseURL: api, extensions: [.outbox(outbox)])
  /// ```
  ///
  /// Entries that an earlier process has left are read and sent at once. Reads and requests of the
  /// layer wait for that, so that no value is shown without its drafts. The layer's scope is the
  /// owner of the entries.
  ///
  /// - Parameter configuration: The store of the entries and the behaviour of the outbox.
  public static func outbox(_ configuration: OutboxConfiguration) -> ModelLayer.Extension {
    ModelLayer.Extension { layer in
      let outbox = Outbox(configuration, layer)
      outbox.read()
      return outbox
    }
  }
}

extension ModelLayer {
  /// The outbox of the layer. A layer without ``ReactorCore/ModelLayer/Extension/outbox(_:)`` has
  /// an outbox in memory.
  ///
  /// ```swift
  /// let left = await layer.outbox.drain(within: .seconds(10))
  /// ```
  public var outbox: Outbox { layer.part { [layer] in Outbox(OutboxConfiguration(), layer) } }

  /// Shows the drafts of a mutation, saves it, and sends it when its turn comes.
  ///
  /// ```swift
  /// let submission = try await layer.submit(AddPost(title: "Hello"))
  /// let post = try await submission.answer()
  /// ```
  ///
  /// The drafts are shown before the method suspends. It returns when the mutation is saved. From
  /// then on, with a durable store, the mutation survives the process. Without connectivity it
  /// waits.
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
