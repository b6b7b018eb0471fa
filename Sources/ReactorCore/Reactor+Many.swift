extension Reactor {
  /// Fetches a resource in the background, so that a later fetch finds it.
  ///
  /// ```swift
  /// let ahead = articles.prefetch("articles/7")  // the row comes into view
  /// ahead.cancel()  // it has left
  /// ```
  ///
  /// A value that is fresh in memory or on disk makes no request. A failure is an event, and is not
  /// thrown. The model stays in memory as long as any unobserved one. The tasks have
  /// ``Resource/priority``, by default `utility`.
  ///
  /// - Returns: The task. Cancel it to end the request, unless others wait for it.
  @discardableResult public func prefetch(_ resource: Resource) -> Task<Void, Never> {
    spawnApart(on: engine.flow.configuration.taskExecutor, priority: resource.priority ?? .utility) { [engine] in
      guard engine.hit(resource, .cacheFirst) == nil else { return }
      _ = try? await engine.missed(resource, .cacheFirst)
    }
  }

  /// Fetches many resources, a bounded number of them at a time.
  ///
  /// ```swift
  /// let results = await articles.fetchAll(ids.map { "articles/\($0)" })
  /// ```
  ///
  /// A failure does not stop the other fetches. When the caller is cancelled, missing results
  /// become ``ReactorError/cancelled``, and their requests are cancelled unless other callers wait
  /// for them.
  ///
  /// - Parameters:
  ///   - resources: The resources. Equal resources share a request.
  ///   - policy: The policy of each fetch.
  ///   - limit: The number of fetches at a time, at least 1. Default: 8.
  /// - Returns: A result for each resource, in the order of `resources`.
  public func fetchAll(
    _ resources: [Resource], policy: FetchPolicy = .cacheFirst, maximumConcurrency limit: Int = 8
  ) async -> [Result<Model, ReactorError>] {
    let engine = engine
    return await engine.fetchAll(resources, policy, limit).map { $0.map { $0.model(as: Model.self) } }
  }

  /// Cancels the request of a resource for all its waiters.
  ///
  /// ```swift
  /// reports.cancel("reports/2026")
  /// ```
  ///
  /// Callers get ``ReactorError/cancelled``. Streams keep their value and become idle; a stream
  /// without a value shows that error, and a polling stream continues after its interval. The next
  /// fetch sends a new request. Without a request in flight, nothing happens. A response that has
  /// arrived may still be saved.
  ///
  /// To stop waiting yourself, cancel your task instead: the request then continues for other
  /// callers.
  public func cancel(_ resource: Resource) { engine.cancel(resource) }
}

extension ReactorEngine {
  fileprivate func fetchAll(
    _ resources: [Resource], _ policy: FetchPolicy, _ limit: Int
  ) async -> [Result<AnyModel, ReactorError>] {
    var results = [Result<AnyModel, ReactorError>](repeating: .failure(.cancelled), count: resources.count)
    await withTaskGroup(of: (Int, Result<AnyModel, ReactorError>).self) { group in
      var next = resources.startIndex
      func add() {
        guard next < resources.endIndex else { return }
        let (index, resource) = (next, resources[next])
        next += 1
        group.addTask { (index, await self.fetched(resource, policy)) }
      }
      for _ in 0..<min(max(1, limit), resources.count) { add() }
      while let (index, result) = await group.next() {
        results[index] = result
        if !Task.isCancelled { add() }
      }
    }
    return results
  }

  /// A separate function: Swift 6.3.1 optimizes the same code in the closure of a child task to
  /// code that returns garbage, or crashes.
  private func fetched(_ resource: Resource, _ policy: FetchPolicy) async -> Result<AnyModel, ReactorError> {
    if let model = hit(resource, policy) { return .success(model) }
    do throws(ReactorError) {
      return .success(try await missed(resource, policy))
    } catch {
      return .failure(error)
    }
  }
}
