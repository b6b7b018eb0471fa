// Conversions between the typed models above the engine and `AnyModel` beneath it.

extension Snapshot {
  /// Returns the snapshot with another model.
  func with<Other>(_ model: Other) -> Snapshot<Other> {
    var snapshot = Snapshot<Other>(model: model, fetchedAt: fetchedAt, record: record)
    snapshot.head = head
    snapshot.receipt = receipt
    snapshot.isShared = isShared
    return snapshot
  }

  /// The snapshot with a model whose type only its reactor knows.
  var erased: Snapshot<AnyModel> { with(box.map { AnyModel(in: $0) } ?? AnyModel(model)) }
}

extension Snapshot<AnyModel> {
  /// Returns the snapshot with the type of its model.
  func typed<Typed: Sendable>(as type: Typed.Type) -> Snapshot<Typed> {
    var snapshot = with(model.model(as: type))
    snapshot.box = model.box
    return snapshot
  }
}

extension ReactorFlow {
  /// The flow with models whose type only the reactor knows.
  var erased: ReactorFlow<AnyModel> {
    var erased = ReactorFlow<AnyModel>(
      layer: layer, configuration: configuration,
      network: { [network] resource, context in
        var typed = ReactorFlow<Model>.Context(stale: context.stale?.typed(as: Model.self), progress: context.progress)
        typed.hasAskedPersistence = context.hasAskedPersistence
        typed.asksServer = context.asksServer
        typed.isUnshared = context.isUnshared
        typed.outage = context.outage
        typed.record = context.record
        typed.sends = context.sends
        typed.trail = context.trail
        return try await network(resource, typed).erased
      },
      loadFromPersistence: { [loadFromPersistence] in try await loadFromPersistence($0)?.erased },
      saveToPersistence: { [saveToPersistence] in try await saveToPersistence($0.typed(as: Model.self), $1) },
      removeFromPersistence: removeFromPersistence)
    erased.invalidateInPersistence = invalidateInPersistence
    erased.holdsAnswer = holdsAnswer
    (erased.isPersistent, erased.loadsAtOnce) = (isPersistent, loadsAtOnce)
    if let parseRecord { erased.parseRecord = { record, key in try parseRecord(record, key).erased } }
    erased.decoded = decoded
    erased.presentation = (Model.self as? any ModelLayer.PresentedModel.Type)?._presentation.make(layer)
    return erased
  }
}

extension LoadState<AnyModel> {
  /// Returns the state with the type of its model.
  func typed<Typed: Sendable>(as type: Typed.Type) -> LoadState<Typed> { with(value?.model(as: type)) }
}
