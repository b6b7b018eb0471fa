import ReactorFlux

/// A middleware that records actions and passes each on unchanged.
struct FluxObserver: Middleware {
  weak let recorder: Recorder?

  func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void) {
    if let recorder {
      recorder.record(
        FluxLog.Entry(
          at: recorder.now, kind: .action, name: action.name, payload: "\(action.payloadType)",
          error: action.error.map { "\(type(of: $0))" }))
    }
    next(action)
  }

  /// Starts recording the dispatcher's actions and store changes, for as long as `recorder` lives.
  @MainActor static func observe(_ dispatcher: Dispatcher, for recorder: Recorder) {
    dispatcher.use(FluxObserver(recorder: recorder))
    dispatcher.observe(recorder) { [weak recorder] store, error in
      guard let recorder else { return }
      recorder.record(
        FluxLog.Entry(
          at: recorder.now, kind: .change, name: "\(type(of: store))", error: error.map { "\(type(of: $0))" }))
    }
  }
}
