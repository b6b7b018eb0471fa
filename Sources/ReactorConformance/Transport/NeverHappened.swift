/// The error for an effect that a check waited for without success.
struct NeverHappened: Error, CustomStringConvertible {
  let what: String
  let limit: Duration

  var description: String { "\(what) did not happen within \(limit)" }
}
