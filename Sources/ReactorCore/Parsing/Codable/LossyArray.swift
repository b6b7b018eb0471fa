import Foundation

/// A collection that can be decoded with its malformed elements left out.
protocol LossyArray: SendableMetatype {
  /// - Throws: where there is no array; an element that cannot be decoded is among the failures.
  static func decodeLossily(
    from decoder: any Decoder, stopsAtFailure: Bool
  ) throws -> LossyElements<Self>
}

/// A collection that was decoded, without the elements that could not be.
struct LossyElements<Elements> {
  var elements: Elements
  /// How many were decoded; a set has fewer where some are equal.
  var count: Int
  var failures: ElementFailures
}

/// Why an element could not be decoded, by the error as it was thrown.
struct ElementFailure {
  var index: Int
  var error: any Error
}

/// Which elements could not be read: the first ones with their errors, of the others the number. So a
/// body of nothing but bad elements costs no more memory than a good one.
struct ElementFailures {
  private(set) var first: [ElementFailure] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ index: Int, _ error: @autoclosure () -> any Error) {
    count += 1
    if first.count < PrunedElement.limit { first.append(ElementFailure(index: index, error: error())) }
  }
}

extension LossyArray {
  fileprivate static func decode<Element: Decodable>(
    _ decoder: any Decoder, _ stopsAtFailure: Bool, make: ([Element]) -> Self
  ) throws -> LossyElements<Self> {
    var container = try decoder.unkeyedContainer()
    var elements: [Element] = []
    var failures = ElementFailures()
    elements.reserveCapacity(container.count ?? 0)
    while !container.isAtEnd {
      do {
        elements.append(try container.decode(Element.self))
      } catch {
        failures.append(container.currentIndex, error)
        if stopsAtFailure { break }
        _ = try container.decode(Anything.self)
      }
    }
    return LossyElements(elements: make(elements), count: elements.count, failures: failures)
  }
}

extension Array: LossyArray where Element: Decodable {
  static func decodeLossily(
    from decoder: any Decoder, stopsAtFailure: Bool
  ) throws -> LossyElements<[Element]> {
    try decode(decoder, stopsAtFailure) { $0 }
  }
}

extension ArraySlice: LossyArray where Element: Decodable {
  static func decodeLossily(
    from decoder: any Decoder, stopsAtFailure: Bool
  ) throws -> LossyElements<ArraySlice> {
    try decode(decoder, stopsAtFailure) { ArraySlice($0) }
  }
}

extension ContiguousArray: LossyArray where Element: Decodable {
  static func decodeLossily(
    from decoder: any Decoder, stopsAtFailure: Bool
  ) throws -> LossyElements<ContiguousArray> {
    try decode(decoder, stopsAtFailure) { ContiguousArray($0) }
  }
}

extension Set: LossyArray where Element: Decodable {
  static func decodeLossily(
    from decoder: any Decoder, stopsAtFailure: Bool
  ) throws -> LossyElements<Set> {
    try decode(decoder, stopsAtFailure) { Set($0) }
  }
}

extension Optional: LossyArray where Wrapped: LossyArray {
  static func decodeLossily(from decoder: any Decoder, stopsAtFailure: Bool) throws -> LossyElements<Wrapped?> {
    if try decoder.singleValueContainer().decodeNil() {
      return LossyElements(elements: nil, count: 0, failures: ElementFailures())
    }
    let wrapped = try Wrapped.decodeLossily(from: decoder, stopsAtFailure: stopsAtFailure)
    return LossyElements(elements: wrapped.elements, count: wrapped.count, failures: wrapped.failures)
  }
}

/// Decodes from any value, and so moves a container past it.
private struct Anything: Decodable {
  init(from decoder: any Decoder) {}
}

/// What a decoder is asked for to get an array with its malformed elements left out, in one pass.
struct Lossy<Elements: LossyArray>: Decodable {
  let result: LossyElements<Elements>

  init(from decoder: any Decoder) throws {
    result = try Elements.decodeLossily(from: decoder, stopsAtFailure: false)
  }
}

/// What a decoder is asked for to get the first malformed element of an array; nothing behind it is
/// decoded.
struct FirstFailure<Elements: LossyArray>: Decodable {
  let failure: ElementFailure?

  init(from decoder: any Decoder) throws {
    failure = try Elements.decodeLossily(from: decoder, stopsAtFailure: true).failures.first.first
  }
}

/// What a decoder is asked for to get the error that a model threw, before the decoder replaces it by one that says less.
struct Caught<Model: Decodable>: Decodable {
  let error: (any Error)?

  init(from decoder: any Decoder) throws {
    do {
      _ = try decoder.singleValueContainer().decode(Model.self)
      error = nil
    } catch {
      self.error = error
    }
  }
}
