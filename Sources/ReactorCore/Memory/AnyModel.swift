/// A model whose type only its reactor knows: one reference, whatever its size.
///
/// Nothing beneath ``Reactor`` is generic. What another module makes a generic type of is not specialized for it, and asks for metadata at
/// each step; so what opens the box is inlinable there.
@usableFromInline struct AnyModel: Sendable {
  @usableFromInline let box: any AnyObject & Sendable

  init<Model: Sendable>(_ model: Model) { box = Box(model) }

  /// The model of a box that ``box`` gave.
  init(in box: any AnyObject & Sendable) { self.box = box }

  /// Whether both are one model: not an equal one, but the one that was parsed, written or loaded once.
  func isSame(as other: AnyModel) -> Bool { box === other.box }

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
