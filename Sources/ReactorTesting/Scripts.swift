/// The answers that a test has scripted, by path.
struct Scripts<Answer: Sendable>: Sendable {
  private var answers: [String: [Answer]] = [:]

  /// - Parameter path: with a query it stands for that query alone and goes first; without, for all.
  subscript(path: String) -> [Answer] {
    get { answers[path] ?? [] }
    set { answers[path] = newValue }
  }

  /// Takes the next answer to a request of `target`; the last one stays. `nil` where nothing is scripted.
  mutating func next(for target: String) -> Answer? { next(target) ?? next(String(target.prefix { $0 != "?" })) }

  private mutating func next(_ path: String) -> Answer? {
    guard let answers = answers[path], let first = answers.first else { return nil }
    if answers.count > 1 { self.answers[path] = Array(answers.dropFirst()) }
    return first
  }
}
