import Foundation
import HTTPTypes
import Synchronization

/// The steps of a flow over a backend, an `HTTPCache` and a parser.
final class HTTPFlow: Sendable {
  let layer: LayerContext
  let backend: Backend
  let retry: RetryMiddleware
  let parser: AnyParser
  let configuration: ReactorConfiguration
  let decoded = DecodedModelLookup()
  /// The name of the model type, for events.
  let name: String

  init(layer: LayerContext, backend: Backend, parser: AnyParser, configuration: ReactorConfiguration) {
    self.layer = layer
    self.backend = backend
    retry = RetryMiddleware(configuration, backend.reachability)
    self.parser = parser
    self.configuration = configuration
    name = "\(parser.type)"
  }

  var steps: FlowSteps {
    var steps = FlowSteps(
      layer: layer, configuration: configuration, isPersistent: layer.cache.isPersistent,
      network: { try await self.network($0, $1) }, loadFromPersistence: { try await self.load($0) },
      saveToPersistence: { try await self.save($0, $1) }, removeFromPersistence: { try await self.remove($0) })
    (steps.decoded, steps.loadsAtOnce) = (decoded, layer.cache.loadsAtOnce)
    steps.invalidateInPersistence = { [layer] in try await layer.cache.invalidate($0, at: $1) }
    steps.parseRecord = { try self.snapshot(of: $0, $1) }
    if steps.isPersistent { steps.storedRecord = { try await self.storedRecord($0, self.key($0)) } }
    steps.holdsAnswer = { try await self.layer.holdsAnswer(try self.key($0), to: $0) }
    return steps
  }

  func key(_ resource: Resource) throws(ReactorError) -> RecordKey {
    try layer.keys.key(resource, secretQueryItems: configuration.secretQueryItems)
  }

  /// Loads and parses the record of `resource`; `nil` if no record is stored that this model type
  /// can be parsed from. A record whose model is in memory is not parsed again.
  func load(_ resource: Resource) async throws -> Snapshot<AnyModel>? {
    if let error = parser.unsupported { throw error }
    let key = try key(resource)
    guard var record = try await newestRecord(resource, key) else { return nil }
    if let stored = record.head.localModel, !parser.modelName.matches(stored) { return nil }
    // A proxy on the same store stores error responses too.
    guard record.head.isModel else { return nil }
    record = layer.trusted(record, of: key)
    // Shares the key's equal string instead of holding a second one.
    if record.head.identity == key.identity { record.head.identity = key.identity }
    if let model = decoded.model(of: key, from: record.head) {
      return Snapshot(model: model, fetchedAt: record.head.receivedAt, record: record)
    }
    // The caller's thread may run this. A large body is parsed by another, so that the caller can
    // leave meanwhile.
    if layer.cache.loadsAtOnce, record.body.count > 16 << 10 { await Task.yield() }
    return Snapshot(
      model: try parse(record.body, of: record.head, key), fetchedAt: record.head.receivedAt, record: record)
  }

  /// Sends a request with the validators of the stored record. The response is parsed unless it is
  /// a 304. Errors name the request.
  func network(_ resource: Resource, _ context: Context) async throws -> Snapshot<AnyModel> {
    if let error = parser.unsupported { throw error }
    let key = try key(resource)
    let request = try backend.request(for: resource)
    do {
      return try await answer(to: request, for: resource, key, context)
    } catch {
      let error = FailedRequest(request).named(Refreshing.redacted(error), isUnsent: context.outage?.wasRefused == true)
      return try snapshot(ofChange: request, resource, context, after: error)
    }
  }

  private func answer(
    to request: HTTPRequest, for resource: Resource, _ key: RecordKey, _ context: Context
  ) async throws -> Snapshot<AnyModel> {
    let stored = try await storedRecord(resource, key, context)
    let head = stored?.head ?? (context.stale?.head).flatMap { $0.localModel == nil ? $0 : nil }
    let conditional = conditional(request, on: resource.readsOnly ? head : nil)
    let isConditional = conditional.headerFields != request.headerFields
    let exchange = try await response(to: conditional, isConditional: isConditional, resource, key, context)
    noteDeprecation(of: request, exchange, key)
    try checkRoute(of: request, resource, context, exchange)
    switch judge(exchange, resource, key, stored: isConditional ? head : nil) {
    case .notModified(var updated):
      updated.join(resource.groups)
      do {
        return try unchanged(updated, stored: stored, stale: context.stale, key).from(exchange)
      } catch is ParserError {
        // An earlier release of the app could read the record, but this one cannot. Its validators
        // are not sent.
        var context = context
        (context.stale, context.stored, context.hasAskedPersistence) = (nil, nil, true)
        return try await answer(to: request, for: resource, key, context)
      }
    case .received(var record):
      guard record.head.isModel else { throw ReactorError.server(exchange.response, body: exchange.body) }
      // `no-store` in the request forbids storing its response too (RFC 9111 §5.2.1.5).
      if RequestCacheControl(resource.headers).isNoStore { record.head.fields[.cacheControl] = "no-store" }
      record.head.join(resource.groups)
      return Snapshot(
        model: try parse(exchange.body, of: record.head, key, isAnswerToChange: !resource.readsOnly),
        fetchedAt: record.head.receivedAt, record: record
      ).from(exchange)
    case .mismatched:
      // The server has confirmed another representation, so it is asked without validators.
      var bare = context
      (bare.stale, bare.stored, bare.hasAskedPersistence) = (nil, nil, true)
      return try await answer(to: request, for: resource, key, bare)
    }
  }

  /// Stores the exchange. A local model is encoded first.
  func save(_ snapshot: Snapshot<AnyModel>, _ resource: Resource) async throws {
    let key = try key(resource)
    if let record = snapshot.record {
      // The request forbids to store its own response, and says nothing of another (§5.2.1.5).
      guard !RequestCacheControl(resource.headers).isNoStore, !resource.isTooLargeForKey else { return }
      try await layer.cache.store(record, for: key, request: resource.headers)
    } else if snapshot.head == nil {
      var record = try parser.local(snapshot, key)
      record.head.join(resource.groups)
      try await layer.cache.store(record, for: key)
      snapshot.receipt?.saved(record.body.count)
    }
  }

  func remove(_ resource: Resource) async throws { try await layer.cache.remove(try key(resource)) }
}

extension HTTPFlow {
  func parse(
    _ body: Data, of head: Record.Head, _ key: RecordKey, isAnswerToChange: Bool = false
  ) throws -> AnyModel {
    let started = ContinuousClock.now
    let parsed: Parsed<AnyModel>
    do { parsed = try parser.parse(body, head.fields.value(of: .contentType)) } catch {
      guard head.fields.isHTML else { throw error }
      if isAnswerToChange { throw ReactorError.network(ReactorError.Diverted()) }
      throw error.ofWebPage
    }
    emit(key, .parsed(bytes: body.count, duration: started.duration(to: .now)))
    if !parsed.pruned.isEmpty { emit(key, .pruned(parsed.pruned, count: parsed.prunedCount)) }
    if !parsed.duplicates.isEmpty { emit(key, .duplicateMembers(parsed.duplicates)) }
    return parsed.model
  }

  func emit(_ key: RecordKey, _ kind: @autoclosure () -> ReactorEvent.Kind) {
    layer.events.append(ReactorEvent(key: key, model: name, kind: kind()))
    layer.events.deliver()
  }
}

extension HTTPFlow {
  /// Sends a request, and retries it as the configuration says. Where the server refuses the
  /// validators, the request is sent once more without them.
  ///
  /// - Parameter isConditional: `true` if the layer has added the conditions of `request`.
  func exchange(
    _ request: HTTPRequest, isConditional: Bool, _ resource: Resource, _ key: RecordKey, _ context: Context
  ) async throws -> HTTPFlowResponse {
    let mayRetry = try context.outage?.admit() ?? true
    var number = 0
    if let form = resource.form {
      return try await uploads(form, with: request, mayRetry: mayRetry, resource, key, context)
    }
    return try await exchangeQuery(request, of: resource, key) { request in
      let isConditional = isConditional && request.method == resource.method
      let answer = try await attempts(
        request, resource.body, isConditional: isConditional, mayRetry: mayRetry, &number, resource, key, context)
      guard isConditional, answer.response.status.mayRefuseValidators else { return answer }
      if request.method == .query, answer.response.lacksQuery { return answer }
      if answer.response.status == .preconditionFailed, request.method == .query {
        layer.querySupport.note(.conditions(of: request))
      }
      return try await attempts(
        request.withoutValidators, resource.body, isConditional: false, mayRetry: mayRetry, &number, resource, key,
        context)
    }
  }

  /// - Parameter number: the number of requests sent so far, which grows.
  func attempts(
    _ request: HTTPRequest, _ body: Data?, isConditional: Bool, mayRetry: Bool, _ number: inout Int,
    _ resource: Resource, _ key: RecordKey, _ context: Context
  ) async throws -> HTTPFlowResponse {
    let (_, exchange) = try await retry.attempts(
      request, isReadOnly: resource.readsOnly ? true : resource.isReadOnly, mayRetry: mayRetry,
      observe: { emit(key, .init($0)) }
    ) {
      // The flight may have ended meanwhile, for example through an invalidation.
      try Task.checkCancellation()
      guard !layer.isOffline.load(ordering: .relaxed) else { throw ReactorError.noConnectivity }
      context.sends()
      emit(key, .request(isConditional: isConditional))
      let (requestedAt, started, trail) = (configuration.now(), ContinuousClock.now, RedirectTrail())
      defer {
        // An attempt that fails may have changed something too.
        context.trail?.leave(trail)
        context.outage?.attempted(trail.latest)
      }
      number += 1
      let (response, answer) = try await instrumented(request, key, number, isConditional) { request in
        try await within(resource.timeout) { [self] in
          try await sent(request, body, trail, isRead: resource.readsOnly, key, context.progress)
        }
      }
      if trail.hops.isEmpty {
        trail.leave(RedirectTrail.Hop(request: request, response: response, isFollowed: false))
      }
      emit(
        key, .response(status: response.status.code, bytes: answer.count, duration: started.duration(to: .now)))
      let exchange = HTTPFlowResponse(
        response: response, body: answer, requestedAt: requestedAt, receivedAt: configuration.now(),
        redirects: trail.redirects)
      return (response, exchange)
    }
    return exchange
  }

  private func instrumented(
    _ request: HTTPRequest, _ key: RecordKey, _ number: Int, _ isConditional: Bool,
    _ send: (HTTPRequest) async throws -> (HTTPResponse, Data)
  ) async throws -> (HTTPResponse, Data) {
    guard let instrument = configuration.instrument else { return try await send(request) }
    return try await instrument.attempt(
      ModelLayer.InstrumentedAttempt(key: key, request: request, number: number, isConditional: isConditional), send)
  }

  /// Returns the response of `send`, or throws ``ReactorError/timedOut`` after `limit`.
  private func within(
    _ limit: Duration?, _ send: @escaping @Sendable () async throws -> (HTTPResponse, Data)
  ) async throws -> (HTTPResponse, Data) {
    guard let limit, limit > .zero else { return try await send() }
    return try await withThrowingTaskGroup(of: (HTTPResponse, Data).self) { group in
      group.addTask { try await send() }
      group.addTask { [clock = configuration.clock] in
        try await clock.sleep(for: limit.upToADay)
        throw ReactorError.timedOut
      }
      defer { group.cancelAll() }
      guard let response = try await group.next() else { throw CancellationError() }
      return response
    }
  }

  /// Returns the meaning of a response for the stored record.
  ///
  /// - Parameter stored: the record whose validators were sent; `nil` if none were.
  func judge(
    _ exchange: HTTPFlowResponse, _ resource: Resource, _ key: RecordKey, stored: Record.Head?
  ) -> HTTPCache.Judgement {
    var response = exchange.response
    response.headerFields = RedirectedResponse.fields(
      of: response, after: exchange.redirects, receivedAt: exchange.receivedAt,
      fallback: configuration.freshFor.inSeconds, staleIfError: configuration.staleIfError.inSeconds)
    // Responses to a change are not stored, and the URLs that they name are looked up unredacted.
    if resource.readsOnly {
      response.headerFields = SecretQuery.redact(
        response.headerFields, names: configuration.secretQueryItems, digests: layer.cache.digests)
    }
    // A 304 from another URL says nothing about the record of this one.
    return HTTPCache.judge(
      response, body: exchange.body, to: resource.headers, for: key,
      stored: exchange.redirects.isEmpty ? stored : nil, requestedAt: exchange.requestedAt,
      receivedAt: exchange.receivedAt)
  }
}

/// Requests of a layer whose responses other processes share.
extension HTTPFlow {
  /// Returns the response to a request: another process's, if it may be used, or else the server's.
  func response(
    to request: HTTPRequest, isConditional: Bool, _ resource: Resource, _ key: RecordKey, _ context: Context
  ) async throws -> HTTPFlowResponse {
    guard let upstream = layer.upstream, !context.isUnshared, resource.readsOnly, request.method == .get,
      resource.body == nil
    else {
      var answer = try await exchange(request, isConditional: isConditional, resource, key, context)
      // What other processes change is heard by the URLs of GETs alone.
      if layer.upstream != nil, resource.readsOnly, request.method != .get {
        answer.response.headerFields.append(HTTPField(name: .cacheControl, value: "no-cache"))
      }
      return answer
    }
    let asked = UpstreamRequest(
      request: request, key: RecordKey.get(key), asksServer: context.asksServer, configuration: configuration,
      send: { request, isConditional, isAwaited in
        try await self.exchange(
          request, isConditional: isConditional, resource, key, isAwaited ? context : FlowContext())
      },
      shared: { bytes, isAwaited in
        if isAwaited { context.record?.share() }
        self.emit(key, .sharedHit(bytes: bytes))
      })
    return try await upstream.response(to: asked)
  }
}

/// The stored response to a request: the validators that it lends, and its use after a 304.
extension HTTPFlow {
  typealias Context = FlowContext

  /// Returns the record of `resource`, or of an equivalent URL (`No-Vary-Search`) if that is newer.
  func newestRecord(_ resource: Resource, _ key: RecordKey) async throws -> Record? {
    let exact = try await layer.cache.lookUp(key, for: resource.headers)
    let (now, freshFor) = (configuration.now(), resource.freshFor?.inSeconds)
    let fallback = configuration.freshFor.inSeconds
    let newest = await layer.cache.newest(exact, of: key, for: resource.headers, at: now) { head in
      Freshness(head).rest(at: now, freshFor: freshFor, fallback: fallback) != nil
    }
    if let other = newest.equivalent { emit(key, .equivalentHit(of: other)) }
    return newest.record
  }

  /// Returns the record whose validators are sent; `nil` if nothing is stored or it cannot be read.
  func storedRecord(
    _ resource: Resource, _ key: RecordKey, _ context: Context
  ) async throws -> Record? {
    guard resource.readsOnly, !layer.generations.isBeingRemoved(key) else { return nil }
    if let record = context.stale?.record { return record.head.localModel == nil ? record : nil }
    guard !context.hasAskedPersistence else { return context.stored?.record }
    do {
      guard layer.cache.isPersistent else { return nil }
      return try await layer.budget.within(key) { try await self.storedRecord(resource, key) }
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      emit(key, .loadFailed(ReactorError(error, wrap: ReactorError.persistence)))
      return nil
    }
  }

  /// Returns the record that the persistence has, for its validators.
  private func storedRecord(_ resource: Resource, _ key: RecordKey) async throws -> Record? {
    guard resource.readsOnly, !layer.generations.isBeingRemoved(key) else { return nil }
    let record = try await layer.cache.lookUp(key, for: resource.headers)
    return record?.head.localModel == nil ? record : nil
  }

  /// Returns the model of an exchange that no step has requested.
  func snapshot(of record: Record, _ key: RecordKey) throws -> Snapshot<AnyModel> {
    let model = try parse(record.body, of: record.head, key)
    return Snapshot(model: model, fetchedAt: record.head.receivedAt, record: record)
  }

  /// Returns the stored copy that a 304 has confirmed. Its bytes are parsed only if its model is
  /// not in memory.
  func unchanged(
    _ head: Record.Head, stored: Record?, stale: Snapshot<AnyModel>?, _ key: RecordKey
  ) throws -> Snapshot<AnyModel> {
    let held = stored.map { self.held(of: $0, stale: stale, key) } ?? stale
    emit(key, .notModified(parsedBytes: held == nil ? stored?.body.count ?? 0 : 0))
    let body = stored?.body ?? Data()
    var snapshot = try held ?? Snapshot(model: parse(body, of: head, key), fetchedAt: head.receivedAt)
    snapshot.fetchedAt = head.receivedAt
    snapshot.head = head
    snapshot.record = held == nil || stored != nil ? Record(head: head, body: body) : nil
    return snapshot
  }

  /// Returns the model of `record` if the stale snapshot or memory has it.
  private func held(of record: Record, stale: Snapshot<AnyModel>?, _ key: RecordKey) -> Snapshot<AnyModel>? {
    if let stale, stale.head?.isSameExchange(as: record.head) == true { return stale }
    return decoded.model(of: key, from: record.head).map { Snapshot(model: $0, fetchedAt: record.head.receivedAt) }
  }
}

extension LayerContext {
  /// Returns a stored record as it may be used. If this process may have missed a message about it,
  /// the record is marked out of date.
  func trusted(_ record: Record, of key: RecordKey) -> Record {
    guard let upstream, record.head.localModel == nil,
      key.method != .get || !upstream.follows(RecordKey.get(key))
    else {
      return record
    }
    var record = record
    record.head.invalidate(at: configuration.now())
    return record
  }
}
