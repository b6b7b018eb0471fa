import ReactorFlux

/// Tells the recorder what passes a dispatcher, and passes it on as it is.
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

  /// Begins to tell; ends with the recorder.
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
