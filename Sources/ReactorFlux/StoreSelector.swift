/// A value derived from parts of a store, which is derived again only when one of the parts has
/// changed.
///
/// ```swift
/// let open = StoreSelector<Tasks, [Item]>(\.items, \.filter) { items, filter in
///   items.filter(filter.matches)
/// }
/// tasks.observe(self, of: { open($0) }) { screen, items in screen.show(items) }
/// ```
///
/// It remembers the latest parts and their value. A selector may be a part of another one, and its
/// source may be a ``Dispatcher``, for parts of several stores.
@MainActor public final class StoreSelector<Source, Value> {
  /// The number of times that the value was derived.
  public var derivations: Int { counter.count }
  private let counter: Counter
  private let read: (Source) -> Value

  /// Creates a selector of one part.
  ///
  /// - Parameters:
  ///   - part: A closure that reads the part. It runs at each call, so it should be cheap.
  ///   - derive: A closure that makes the value of the part, and of nothing else.
  public init<Part: Equatable>(
    _ part: @escaping (Source) -> Part, deriving derive: @escaping (Part) -> Value
  ) {
    let (known, counter) = (KnownPart<Part, Value>(), Counter())
    self.counter = counter
    read = { source in
      let part = part(source)
      if let latest = known.latest, latest.part == part { return latest.value }
      counter.count += 1
      let value = derive(part)
      known.latest = (part, value)
      return value
    }
  }

  /// Creates a selector of two parts, as ``init(_:deriving:)`` does.
  public convenience init<First: Equatable, Second: Equatable>(
    _ first: @escaping (Source) -> First, _ second: @escaping (Source) -> Second,
    deriving derive: @escaping (First, Second) -> Value
  ) {
    self.init({ Both(first: first($0), second: second($0)) }, deriving: { derive($0.first, $0.second) })
  }

  /// Creates a selector of three parts, as ``init(_:deriving:)`` does. For more, use a structure
  /// that is `Equatable`, or another selector.
  public convenience init<First: Equatable, Second: Equatable, Third: Equatable>(
    _ first: @escaping (Source) -> First, _ second: @escaping (Source) -> Second,
    _ third: @escaping (Source) -> Third,
    deriving derive: @escaping (First, Second, Third) -> Value
  ) {
    self.init(
      { Both(first: Both(first: first($0), second: second($0)), second: third($0)) },
      deriving: { derive($0.first.first, $0.first.second, $0.second) })
  }

  /// Returns the value for a source.
  public func callAsFunction(_ source: Source) -> Value { read(source) }
}

@MainActor private final class Counter {
  var count = 0
}

/// The part of which the latest value was derived.
@MainActor private final class KnownPart<Part, Value> {
  var latest: (part: Part, value: Value)?
}

private struct Both<First: Equatable, Second: Equatable>: Equatable {
  let first: First
  let second: Second
}
