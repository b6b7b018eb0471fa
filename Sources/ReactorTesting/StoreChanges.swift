import ReactorFlux

/// The changes of one store during one action.
@MainActor struct StoreChanges {
  let store: any Store
  /// The snapshot before the action; `nil` if the store is not `Snapshotting`.
  let before: (any Sendable)?
  /// The error of each emitted change, or `nil` for a change without one.
  var emitted: [(any Error)?] = []

  init(_ store: any Store) {
    self.store = store
    before = (store as? any Snapshotting)?.anySnapshot
  }

  /// A Boolean value that indicates whether the store emitted a change, or its snapshot differs.
  var hasChanged: Bool { !emitted.isEmpty || hasOtherSnapshot }

  var details: String {
    if emitted.isEmpty { return ": its snapshot differs, but it emitted no change" }
    let errors = emitted.compactMap(\.self)
    return errors.isEmpty ? "" : ", with the error \(errors[0])"
  }

  func differences(fails: Bool, check: @MainActor (StoreChanges) -> String?) -> [String] {
    let name = "\(type(of: store))"
    guard !emitted.isEmpty else { return ["\(name) was expected to change, but emitted no change"] }
    var differences: [String] = []
    let error = emitted.compactMap(\.self).first
    if fails, error == nil { differences.append("\(name) was expected to fail, but changed without an error") }
    if !fails, let error { differences.append("\(name) changed with the error \(error)") }
    if let difference = check(self) { differences.append("\(name) \(difference)") }
    return differences
  }

  private var hasOtherSnapshot: Bool {
    guard let before = before as? any Equatable, let now = (store as? any Snapshotting)?.anySnapshot else {
      return false
    }
    return !before.isEqual(to: now)
  }
}

extension Snapshotting {
  fileprivate var anySnapshot: any Sendable { snapshot }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { (other as? Self) == self }
}
