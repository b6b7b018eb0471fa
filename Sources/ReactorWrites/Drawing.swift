import ReactorCore
import Synchronization

/// The values that code of the user computes for a reader now: a draft, or the members of a
/// container of entities.
///
/// That code may read resources, including the resource whose value it computes. It then gets the
/// value beneath, since computing the same value again would never end.
final class Drawing: Sendable {
  private enum Subject: Sendable {
    case model(DraftedModel, base: AnyModel?)
    case draft(Draft, beneath: AnyModel?)
  }

  @TaskLocal private static var latest: Drawing?

  private let subject: Subject
  private let outer: Drawing?
  /// A task that the user's code has created has the value of ``latest`` for longer.
  private let isOver = Atomic<Bool>(false)

  private init(_ subject: Subject) {
    self.subject = subject
    outer = Self.current
  }

  private static var current: Drawing? {
    var drawing = latest
    while let next = drawing, next.isOver.load(ordering: .acquiring) { drawing = next.outer }
    return drawing
  }

  /// A Boolean value that indicates whether user code is running for another value. A value that it
  /// reads may lack a draft, and is not kept.
  static var isNested: Bool { current != nil }

  /// Runs `body`, which computes `model` from `base`.
  static func of<Result>(_ model: DraftedModel, _ base: AnyModel?, _ body: () -> Result) -> Result {
    Drawing(.model(model, base: base)).run(body)
  }

  /// Applies a draft by `body`, unless it is being applied already.
  static func applying(_ draft: Draft, to value: AnyModel?, _ body: (AnyModel?) -> AnyModel?) -> AnyModel? {
    let isBeingApplied = contains { subject in
      if case .draft(let other, _) = subject { other === draft } else { false }
    }
    return isBeingApplied ? value : Drawing(.draft(draft, beneath: value)).run { body(value) }
  }

  /// Returns the value beneath the code that reads `model`, if it is computed by that code.
  ///
  /// - Parameter draft: a draft of the model; `nil` if it has none.
  /// - Returns: `nil` if the code does not compute it.
  static func beneath(_ model: DraftedModel, _ draft: Draft?) -> AnyModel?? {
    var drawing = current
    while let next = drawing {
      switch next.subject {
      case .model(let other, let base): if other === model { return .some(base) }
      case .draft(let other, let beneath): if other.hasTarget(of: draft) { return .some(beneath) }
      }
      drawing = next.outer
    }
    return nil
  }

  private func run<Result>(_ body: () -> Result) -> Result {
    defer { isOver.store(true, ordering: .releasing) }
    return Self.$latest.withValue(self, operation: body)
  }

  private static func contains(_ match: (Subject) -> Bool) -> Bool {
    var drawing = current
    while let next = drawing {
      if match(next.subject) { return true }
      drawing = next.outer
    }
    return false
  }
}

extension Draft {
  /// Returns `true` if both drafts are of values of one type, of one resource.
  fileprivate func hasTarget(of other: Draft?) -> Bool {
    guard let other, entity == nil, other.entity == nil else { return false }
    return key == other.key && model == other.model
  }
}
