import Foundation
import Synchronization

extension ReactorEngine {
  func request(_ step: FlightStep, _ loaded: LoadResult?) async {
    guard flow.isReachable else { return unreachable(step) }
    // Reading the wall clock updates its lead.
    _ = now
    let lead = reader.rule.steps.lead
    let (held, isUnconditional) = state.withLock { state -> (Snapshot<AnyModel>?, Bool) in
      let entry = state.entry(of: step)
      let held = loaded?.snapshot ?? entry?.copy(answering: step.resource)?.snapshot
      return (held, entry?.flight?.machine.waiters.areUnconditional == true)
    }
    let known = isUnconditional ? nil : held
    var context = FlowContext(stale: known?.isSelected(by: step.resource) == true ? known : nil)
    // Without a stored copy there are no validators.
    context.hasAskedPersistence = isUnconditional || loaded != nil
    guard await readsRecord(for: step, into: &context) else { return }
    if layer.upstream != nil {
      context.asksServer = state.withLock { state in
        state.entry(of: step)?.flight?.machine.waiters.inOrder.contains { !$0.policy.asksStoreFirst } ?? false
      }
    }
    if let outages = layer.outages {
      let (now, time) = (now, outages.now)
      context.outage = OutageCheck(outages, step.key, update { $0.demand(for: step, at: now, time) })
    }
    // The step may store this closure, which must retain neither the ticket nor the task.
    context.progress = { [weak self, key = step.key, flight = step.flight] progress in
      self?.update { $0.advance(key, flight, to: progress) }
    }
    // The flow calls this before each attempt of the request.
    context.sends = { [weak self, key = step.key, flight = step.flight] in
      self?.state.withLock { $0.entry(of: key, flight: flight)?.flight?.ticket.send() }
    }
    step.ticket.send()
    guard let instrument = flow.configuration.instrument,
      let record = state.withLock({ $0.entry(of: step)?.flight?.record })
    else {
      _ = await send(step, context, lead: lead)
      return
    }
    context.record = record
    await instrument.flight(record) { [context] in await send(step, context, lead: lead) }
  }

  /// Reads the record whose validators are sent, unless the flight has read it. It needs no task:
  /// one would cost as much as the read.
  ///
  /// - Returns: `false` if the persistence was late, and another task sends the request.
  private func readsRecord(for step: FlightStep, into context: inout FlowContext) async -> Bool {
    guard !context.hasAskedPersistence, context.stale?.record == nil, let storedRecord = flow.storedRecord else {
      return true
    }
    let wait = layer.budget.begin(step.key) { [weak self] in self?.recordIsLate(step) }
    let read: Result<Record?, any Error>
    do { read = .success(try await storedRecord(step.resource)) } catch { read = .failure(error) }
    guard layer.budget.end(wait) else { return false }
    switch read {
    case .success(let record):
      (context.stored, context.hasAskedPersistence) = (record.map(FlowContext.Stored.init), true)
    // The request ends like this too.
    case .failure(is CancellationError): break
    case .failure(let error):
      loadFailed(ReactorError(error, wrap: ReactorError.persistence), step.key)
      context.hasAskedPersistence = true
    }
    return true
  }

  /// Sends the request without the stored record, by another task.
  private func recordIsLate(_ step: FlightStep) {
    guard let error = layer.budget.error, state.withLock({ $0.entry(of: step) != nil }) else { return }
    loadFailed(error, step.key)
    start(step.request(LoadResult(resource: step.resource)))
  }

  private func loadFailed(_ error: ReactorError, _ key: RecordKey) {
    append(key, .loadFailed(error))
    layer.events.deliver()
  }

  /// Sends the request of a flight, and resolves its waiters.
  ///
  /// - Returns: the error of the request; `nil` if the request succeeded.
  private func send(_ step: FlightStep, _ context: FlowContext, lead: Double) async -> ReactorError? {
    do {
      let snapshot = try await flow.network(step.resource, context).marked(by: layer.marks, step.key, step.ticket)
      note(context.outage?.ended(with: nil), step.key)
      await finish(step, presented(snapshot, of: step.key), lead: lead)
      return nil
    } catch {
      let error = ReactorError(error, wrap: ReactorError.network)
      note(context.outage?.ended(with: error), step.key)
      if removesValue(error) {
        await fail(step, gone: error)
        return error
      }
      fail(step, error, wasSent: context.outage?.wasRefused != true)
      return error
    }
  }

  private func unreachable(_ step: FlightStep) {
    let now = now
    let isPaused = update { $0.unreachable(step, at: now) }
    // Connectivity may have returned after the check, before the flight was paused.
    if isPaused, flow.isReachable { reconnected(refreshes: false) }
  }

  private func note(_ change: OutageTable<ReactorError>.Change?, _ key: RecordKey) {
    guard let change else { return }
    let kind: ReactorEvent.Kind =
      switch change {
      case .began: .outageBegan
      case .ended(let duration): .outageEnded(after: duration)
      }
    append(key, kind)
    layer.events.deliver()
    flow.configuration.instrument?.stateChanged(ReactorEvent(key: key, model: name, kind: kind))
    guard case .ended = change else { return }
    // Nothing else would request the resources that were refused meanwhile.
    for member in layer.livingMembers { member.serverReturned() }
    // The writes that could not be sent need not wait for their backoff.
    for part in layer.parts { part.wentOnline() }
  }

  /// Fetches without a flight, for the refresh of a credential: the key's flight may be waiting for
  /// that refresh. The response is neither shared nor stored.
  @concurrent func fetchAlone(
    _ resource: Resource, _ key: RecordKey, _ policy: FetchPolicy
  ) async throws(ReactorError) -> ShownModel {
    // A cache-only fetch never waits for the network.
    if policy.asksStoreFirst, let shown = try? await fetch(resource, .cacheOnly) {
      let status = reader.rule.status(of: shown.copy, for: resource, at: now)
      switch FetchDecision(policy, shown, status) {
      case .use(let shown), .useAndRevalidate(let shown): return shown
      case .ask, .notCached: break
      }
    }
    guard flow.isReachable else { throw .noConnectivity }
    do {
      return ShownModel(copy: CachedModel(try await flow.network(resource, .init()), of: key, origin: .network))
    } catch {
      let error = ReactorError(error, wrap: ReactorError.network)
      append(key, .failed(error))
      layer.events.deliver()
      throw error
    }
  }
}

extension EngineState {
  /// Processes a request that found no connectivity.
  ///
  /// - Returns: `true` if the flight waits for connectivity.
  mutating func unreachable(_ step: FlightStep, at now: Date) -> Bool {
    guard let entry = entry(of: step) else { return false }
    let actions = entry.flight?.machine.unreachable { status(of: entry, for: $0, at: now) } ?? []
    if entry.flight?.machine.isPaused == true {
      append(step.key, .paused)
    } else {
      entry.error = .noConnectivity
      entry.attemptedAt = time
      append(step.key, .failed(.noConnectivity))
    }
    enqueue(actions, for: entry)
    publishChanges(of: entry)
    return entry.flight?.machine.isPaused == true
  }

  mutating func advance(_ key: RecordKey, _ flight: UInt64, to progress: TransferProgress) {
    guard let entry = entry(of: key, flight: flight), let flight = entry.flight, flight.progress != progress else {
      return
    }
    if progress.isWorthReporting(after: flight.progress) { append(key, .progress(progress)) }
    entry.advance(to: progress)
    publishChanges(of: entry)
  }

  /// Returns `true` if the server is down and a stale copy may be the answer meanwhile. If a probe
  /// of the server is due, this starts it.
  mutating func isServedInOutage(
    _ waiter: FlightMachine.Waiter, _ entry: Entry, at now: Date, _ time: Duration?
  ) -> Bool {
    guard let outage = layer.outages?.outage(of: entry.key, at: time),
      let copy = entry.copy,
      waiter.policy.servesStale(status(of: copy, for: waiter.resource, at: now), on: outage.error)
    else { return false }
    if outage.isProbeDue, entry.flight?.machine.hasBackgroundWaiter != true {
      join(.background(waiter.resource, waiter.policy), entry, at: now)
    }
    return true
  }

  /// Processes an outage of the server that a request is about to meet.
  ///
  /// - Returns: the waiters of the request from now on.
  mutating func demand(for step: FlightStep, at now: Date, _ outageTime: Duration?) -> OutageCheck.Demand {
    guard let entry = entry(of: step) else { return .background }
    if layer.outages?.outage(of: step.key, at: outageTime) != nil {
      enqueue(entry.flight?.machine.serverFails { status(of: entry, for: $0, at: now) } ?? [], for: entry)
      publishChanges(of: entry)
    }
    let waiters = entry.flight?.machine.waiters.inOrder ?? []
    if waiters.contains(where: { $0.policy == .networkOnly }) { return .insisted }
    let isAwaited = waiters.contains { $0.kind == .caller || ($0.kind == .stream && entry.copy == nil) }
    return isAwaited ? .awaited : .background
  }
}
