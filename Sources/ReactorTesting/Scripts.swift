/// The scripted answers of a test, by path.
struct Scripts<Answer: Sendable>: Sendable {
  private var answers: [String: [Answer]] = [:]

  /// - Parameter path: With a query, it matches only that query and takes precedence. Without one,
  ///   it matches any query.
  subscript(path: String) -> [Answer] {
    get { answers[path] ?? [] }
    set { answers[path] = newValue }
  }

  /// Returns the next answer to a request of `target`, or `nil` if nothing is scripted. The last
  /// answer repeats.
  mutating func next(for target: String) -> Answer? { next(target) ?? next(String(target.prefix { $0 != "?" })) }

  private mutating func next(_ path: String) -> Answer? {
    guard let answers = answers[path], let first = answers.first else { return nil }
    if answers.count > 1 { self.answers[path] = Array(answers.dropFirst()) }
    return first
  }
}
