public import ReactorCore

extension Reactor {
  /// Sends `request`, and shows `draft` over the value of `resource` until the server has answered.
  ///
  /// ```swift
  /// try await posts.mutate("posts", by: Resource("posts/7", method: .delete)) { list in
  ///   list.removeAll { $0.id == 7 }
  /// }
  /// ```
  ///
  /// Readers and streams show the draft at once. When the server accepts the request, the draft
  /// stays until a newer value is fetched, and the resource is invalidated. When the server refuses
  /// it, the draft is gone; drafts of other writes stay. Once the method has thrown a refusal,
  /// `cached(_:)` and new streams do not have the draft, and neither does a `LiveResource` of
  /// the resource that the main actor reads. A stream that iterates yields the next state a turn
  /// later. An accepted draft stays also where the response cannot be parsed.
  ///
  /// Writes of one resource are sent one after the other. A fetch of the resource waits for the
  /// write being sent, so that its response has the change. The draft is never saved, and ends with
  /// the process. Without connectivity, the method fails at once and shows nothing.
  ///
  /// - Parameters:
  ///   - resource: The resource whose value changes. Without a value, the draft applies once there
  ///     is one.
  ///   - request: The request that may change something on the server.
  ///   - answer: The type of the response's model. Default: `Void`, which ignores the body.
  ///   - draft: The change. It runs again for each newer value, so make its effect idempotent: set,
  ///     insert unless present, or remove. It must be quick and without side effects. It runs on
  ///     the executor of the first reader of the value.
  /// - Returns: The model of the response.
  /// - Throws: `ReactorError.cancelled` as soon as the caller is cancelled; the request is
  ///   cancelled, the draft is gone, and the resource is invalidated, since the server may have
  ///   carried it out. `ReactorError.deadlock(keys:)` in a step of a fetch of the resource, for
  ///   which the write would wait; nothing is sent. `ReactorError.noConnectivity`, or the errors
  ///   of `send(_:)`.
  @discardableResult
  public func mutate<Answer: Sendable>(
    _ resource: Resource, by request: Resource, answer: Answer.Type = Void.self,
    draft: @escaping @Sendable (inout Model) -> Void
  ) async throws(ReactorError) -> Answer {
    let engine = engine
    let change: @Sendable (Model?) -> Model? = { base in
      guard var model = base else { return nil }
      draft(&model)
      return model
    }
    let flow = try engine.flow(answering: Answer.self)
    let name = String(describing: Answer.self)
    return try await engine.mutate(resource, by: request, through: flow, answering: name, draft: change)
      .model(as: Answer.self)
  }
}

extension ModelLayer {
  /// Removes an entity from every copy of the layer that holds it.
  ///
  /// ```swift
  /// layer.remove(Article.self, id: 7)
  /// ```
  ///
  /// Lists show the other entities. A resource whose model is the entity shows no value, and is
  /// requested by the next fetch. A response that was requested before changes nothing; one that is
  /// requested later, or a later save, brings the entity back if it has it. Nothing changes on
  /// disk.
  public func remove<E: Entity>(_ type: E.Type, id: E.ID) { layer.remove(type, id: id) }
}
