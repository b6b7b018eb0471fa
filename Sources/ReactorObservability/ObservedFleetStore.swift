#if Observability
  public import ReactorFleet
  import Tracing

  extension Observability {
    /// Returns a store whose operations are metrics, and spans if wanted.
    ///
    /// ```swift
    /// let fleet = Fleet(observability.observing(store), configuration: configuration)
    /// ```
    ///
    /// Operations that the fleet skips while the store is unreachable are not counted.
    ///
    /// - Parameters:
    ///   - store: the store that carries the operations out.
    ///   - makesSpans: `true` for a client span around each operation of a request. Default:
    ///     `false`, since the store's client may make its own spans.
    public func observing(_ store: any FleetStore, makesSpans: Bool = false) -> some FleetStore {
      ObservedFleetStore(store: store, observability: self, makesSpans: makesSpans)
    }
  }

  private struct ObservedFleetStore: FleetStore {
    let store: any FleetStore
    let observability: Observability
    let makesSpans: Bool

    private func observed<Value: Sendable>(
      _ operation: String, _ body: () async throws(FleetError) -> Value
    ) async throws(FleetError) -> Value {
      let span: (any Span)? =
        makesSpans ? observability.tracer?.startSpan("reactor.fleet.\(operation)", ofKind: .client) : nil
      let start = ContinuousClock.now
      defer { span?.end() }
      do throws(FleetError) {
        let value = try await body()
        observability.metrics.operated(operation, "ok", in: ContinuousClock.now - start)
        return value
      } catch {
        span?.attributes["error.type"] = error.outcome
        span?.setStatus(SpanStatus(code: .error))
        observability.metrics.operated(operation, error.outcome, in: ContinuousClock.now - start)
        throw error
      }
    }

    func read(_ record: FleetRecordID, known: FleetVersion?) async throws(FleetError) -> FleetStoredRecord {
      try await observed("read") { () throws(FleetError) in try await store.read(record, known: known) }
    }

    func begin(
      _ record: FleetRecordID, _ wish: FleetLeaseRequest, lease: Duration, retention: Duration
    ) async throws(FleetError) -> FleetLeaseAnswer {
      try await observed("begin") { () throws(FleetError) in
        try await store.begin(record, wish, lease: lease, retention: retention)
      }
    }

    func renew(_ ticket: FleetTicket, lease: Duration) async throws(FleetError) -> Bool {
      try await observed("renew") { () throws(FleetError) in try await store.renew(ticket, lease: lease) }
    }

    func commit(
      _ ticket: FleetTicket, _ change: FleetChange, retention: Duration
    ) async throws(FleetError) -> FleetCommitResult {
      let end = try await observed("commit") { () throws(FleetError) in
        try await store.commit(ticket, change, retention: retention)
      }
      observability.metrics.committed(end.rawValue)
      return end
    }

    func release(_ ticket: FleetTicket, _ reason: FleetRelease) async throws(FleetError) {
      try await observed("release") { () throws(FleetError) in try await store.release(ticket, reason) }
    }

    func fence(
      _ url: FleetURLID, removes: Bool, replaying version: FleetVersion?
    ) async throws(FleetError) -> FleetVersion {
      try await observed("fence") { () throws(FleetError) in
        try await store.fence(url, removes: removes, replaying: version)
      }
    }

    func generation(of scope: String, renews: Bool) async throws(FleetError) -> FleetGeneration {
      try await observed("generation") { () throws(FleetError) in try await store.generation(of: scope, renews: renews)
      }
    }

    // A heartbeat does not belong to a request, and comes each second.
    func beat(_ node: String, nonce: UInt64, scopes: [String]) async throws(FleetError) -> FleetHeartbeat {
      try await store.beat(node, nonce: nonce, scopes: scopes)
    }

    func follow(_ node: String, _ body: @escaping @Sendable (FleetMessage) -> Void) async throws(FleetError) {
      try await store.follow(node) { [observability] message in
        if let kind = message.kind { observability.metrics.heard(kind) }
        body(message)
      }
    }

    func nodes() async throws(FleetError) -> Int { try await store.nodes() }

    var largestBody: Int { store.largestBody }
  }

  extension FleetError {
    /// The kind of the error for dimensions, of which there are only so many.
    fileprivate var outcome: String {
      switch self {
      case .unavailable: "unavailable"
      case .readOnly: "read_only"
      case .misconfigured: "misconfigured"
      case .wrongData: "wrong_data"
      @unknown default: "other"
      }
    }
  }

  extension FleetMessage {
    fileprivate var kind: String? {
      switch self {
      case .stored: "stored"
      case .released: "released"
      case .fenced: "fenced"
      case .renewed: "renewed"
      case .following, .beat: nil
      }
    }
  }
#endif
