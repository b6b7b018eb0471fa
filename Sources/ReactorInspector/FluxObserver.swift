import ReactorFlux

/// A middleware that records actions and passes each on unchanged.
struct FluxObserver: Middleware {
  weak let recorder: Recorder?
  let visibility: StateVisibility

  func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void) {
    guard let recorder else { return next(action) }
    let at = recorder.now
    let difference = ActionDifference(action, in: dispatcher, showing: visibility, next: next)
    recorder.record(
      FluxLog.Entry(
        at: at, kind: .action, name: action.name, payload: "\(action.payloadType)",
        error: action.error.map { "\(type(of: $0))" }, fields: difference.fields.map(FluxLog.Field.init),
        isCut: difference.isCut))
  }

  /// Starts recording the dispatcher's actions and store changes, for as long as `recorder` lives.
  @MainActor static func observe(_ dispatcher: Dispatcher, for recorder: Recorder, showing visibility: StateVisibility)
  {
    dispatcher.use(FluxObserver(recorder: recorder, visibility: visibility))
    dispatcher.observe(recorder) { [weak recorder] store, error in
      guard let recorder else { return }
      recorder.record(
        FluxLog.Entry(
          at: recorder.now, kind: .change, name: "\(type(of: store))", error: error.map { "\(type(of: $0))" }))
    }
  }
}
