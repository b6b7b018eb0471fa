/// What a check of a suite has waited for, and did not come.
struct NeverHappened: Error, CustomStringConvertible {
  let what: String
  let limit: Duration

  var description: String { "\(what) did not come within \(limit)" }
}
