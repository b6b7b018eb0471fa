/// A model whose type only its reactor knows: one reference, whatever its size.
///
/// Nothing beneath ``Reactor`` is generic. What another module makes a generic type of is not specialized for it, and asks for metadata at
/// each step; so what opens the box is inlinable there.
@usableFromInline struct AnyModel: Sendable {
  @usableFromInline let box: any AnyObject & Sendable

  init<Model: Sendable>(_ model: Model) { box = Box(model) }

  /// The model of the reactor that it belongs to.
  ///
  /// - Parameter type: what it was made of: to ask takes as long as the rest of a hit, and each reactor has one type. Said in full, since
  ///   an optional chain may infer the optional. Checked in debug builds.
  @inlinable func model<Model: Sendable>(as type: Model.Type) -> Model {
    unsafeDowncast(box, to: Box<Model>.self).model
  }

  @usableFromInline final class Box<Model: Sendable>: Sendable {
    @usableFromInline let model: Model
    init(_ model: Model) { self.model = model }
  }
}

extension Snapshot {
  /// The same of another model.
  func with<Other>(_ model: Other) -> Snapshot<Other> {
    var snapshot = Snapshot<Other>(model: model, fetchedAt: fetchedAt, record: record)
    snapshot.head = head
    return snapshot
  }

  /// The same of a model whose type only its reactor knows.
  var erased: Snapshot<AnyModel> { with(AnyModel(model)) }
}

extension Snapshot<AnyModel> {
  /// The same with its model's type.
  func typed<Typed: Sendable>(as type: Typed.Type) -> Snapshot<Typed> { with(model.model(as: type)) }
}

extension ReactorFlow {
  /// The same steps, of models whose type only the reactor knows.
  var erased: ReactorFlow<AnyModel> {
    var erased = ReactorFlow<AnyModel>(
      core: core, configuration: configuration,
      network: { [network] resource, context in
        var typed = FetchContext<Model>(stale: context.stale?.typed(as: Model.self), progress: context.progress)
        typed.hasAskedPersistence = context.hasAskedPersistence
        typed.trail = context.trail
        return try await network(resource, typed).erased
      },
      loadFromPersistence: { [loadFromPersistence] in try await loadFromPersistence($0)?.erased },
      saveToPersistence: { [saveToPersistence] in try await saveToPersistence($0.typed(as: Model.self), $1) },
      removeFromPersistence: removeFromPersistence)
    erased.invalidateInPersistence = invalidateInPersistence
    erased.isPersistent = isPersistent
    erased.decoded = decoded
    return erased
  }
}

extension LoadState<AnyModel> {
  /// The same with its model's type.
  func typed<Typed: Sendable>(as type: Typed.Type) -> LoadState<Typed> { with(value?.model(as: type)) }
}
