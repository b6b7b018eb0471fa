/// An action, and the fields of the stores' states that its handlers have changed.
public struct ActionDifference: Sendable, Hashable {
  /// A field that differs.
  public struct Field: Sendable, Hashable {
    /// The way in which a field differs.
    public enum Kind: String, Sendable, Codable {
      /// The field has another value.
      case changed
      /// The field had no value: it was `nil`, or is a new element.
      case added
      /// The field has no value any more.
      case removed
    }

    /// The type name of the store.
    public let store: String
    /// The path of the field, such as `users[2].name`; empty if the state is one value without
    /// fields.
    public let path: String
    /// The way in which it differs.
    public let kind: Kind
    /// The value before, in at most 120 characters; `nil` if the field was added, or is not shown.
    public let before: String?
    /// The value after, in at most 120 characters; `nil` if the field was removed, or is not shown.
    public let after: String?
  }

  /// The largest number of fields that are listed for one action: 50.
  public static let maximumFields = 50

  /// The name of the event.
  public let name: String
  /// The fields that differ, by store, in the order of registration.
  public internal(set) var fields: [Field] = []
  /// A Boolean value that indicates whether more fields differ than are listed.
  public internal(set) var isCut = false

  /// Passes the action on, and compares the states before with those after its handlers.
  @MainActor package init(
    _ action: AnyAction, in dispatcher: Dispatcher, showing visibility: StateVisibility, next: (AnyAction) -> Void
  ) {
    name = action.name
    let before = dispatcher.stores.map { StoreImage($0) }
    next(action)
    for image in before {
      let store = "\(type(of: image.store))"
      var comparison = StateComparison(of: store, visibility, limit: Self.maximumFields - fields.count)
      comparison.compare(image.state, StoreImage(image.store).state)
      fields += comparison.fields
      isCut = isCut || comparison.isCut
    }
  }
}

extension ActionDifference: CustomStringConvertible {
  /// The action, and a line for each field: `Session.user.name: "Ada" → "Bob"`.
  public var description: String {
    ([name] + fields.map { "  \($0)" } + (isCut ? ["  …"] : [])).joined(separator: "\n")
  }
}

extension ActionDifference.Field: CustomStringConvertible {
  /// The field with its values, or the way in which it differs: `Session.user.name changed`.
  public var description: String {
    let name = path.isEmpty ? store : "\(store).\(path)"
    return switch (before, after) {
    case (let before?, let after?): "\(name): \(before) → \(after)"
    case (nil, let after?): "\(name): + \(after)"
    case (let before?, nil): "\(name): − \(before)"
    case (nil, nil): "\(name) \(kind.rawValue)"
    }
  }
}

/// A middleware that compares the stores before and after each action.
///
/// ```swift
/// dispatcher.use(DifferenceLogger { difference in print(difference) })
/// ```
///
/// It compares the snapshot of a ``Snapshotting`` store, and otherwise the stored properties that
/// are values. A state that is `Equatable` costs one comparison if it is equal; a copy of each
/// state is kept while an action is handled. It is meant for debug builds.
public struct DifferenceLogger: Middleware {
  private let visibility: StateVisibility
  private let write: @MainActor (ActionDifference) -> Void

  /// Creates a logger. Add it last, so that it sees the actions as the stores receive them.
  ///
  /// - Parameters:
  ///   - visibility: The fields whose values are shown. Default: none.
  ///   - write: A closure that gets each action, after its handlers have run.
  public init(showing visibility: StateVisibility = .hidden, _ write: @escaping @MainActor (ActionDifference) -> Void) {
    self.visibility = visibility
    self.write = write
  }

  /// Passes the action on, and then writes it.
  public func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void) {
    write(ActionDifference(action, in: dispatcher, showing: visibility, next: next))
  }
}
