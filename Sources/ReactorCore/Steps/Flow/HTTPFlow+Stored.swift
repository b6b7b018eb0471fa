import Foundation
import HTTPTypes

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
    guard !context.hasAskedPersistence else { return nil }
    do {
      guard layer.cache.isPersistent else { return nil }
      let record = try await layer.budget.within(key) { [layer] in
        try await layer.cache.lookUp(key, for: resource.headers)
      }
      return record?.head.localModel == nil ? record : nil
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      emit(key, .loadFailed(ReactorError(error, wrap: ReactorError.persistence)))
      return nil
    }
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
  /// Returns `true` if a response to `resource` is stored, although it may be unreadable, and not a
  /// value that this program has written.
  func holdsAnswer(_ key: RecordKey, to resource: Resource) async throws -> Bool {
    do {
      return try await cache.lookUp(key, for: resource.headers).map { !$0.head.isLocalWrite } ?? false
    } catch let error as CancellationError {
      throw error
    } catch {
      return true
    }
  }
}

extension HTTPRequest {
  /// The request without the conditions that ``HTTPCache/conditional(_:on:)`` adds.
  var withoutValidators: HTTPRequest {
    var request = self
    request.headerFields[.ifNoneMatch] = nil
    request.headerFields[.ifModifiedSince] = nil
    return request
  }
}

extension HTTPResponse.Status {
  /// A Boolean value that indicates whether the server, or a proxy before it, may have refused the
  /// validators of a request: a client error that says nothing of the resource, the user or the
  /// moment.
  var mayRefuseValidators: Bool {
    kind == .clientError && ![401, 404, 407, 408, 410, 421, 425, 429, 451].contains(code)
  }
}
