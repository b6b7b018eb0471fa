import Foundation

/// A collection that can be decoded without its malformed elements.
protocol LossyArray: Decodable, SendableMetatype {
  associatedtype LossyElement: Decodable
  /// Creates a collection of the elements that could be decoded.
  init(lossyElements: [LossyElement])
  /// The value for JSON's null; `nil` if null is an error.
  static var ofNull: Self? { get }
}

extension LossyArray {
  static var ofNull: Self? { nil }
}

extension Array: LossyArray where Element: Decodable {
  init(lossyElements: [Element]) { self = lossyElements }
}

extension ContiguousArray: LossyArray where Element: Decodable {
  init(lossyElements: [Element]) { self.init(lossyElements) }
}

extension Set: LossyArray where Element: Decodable {
  init(lossyElements: [Element]) { self.init(lossyElements) }
}

extension Optional: LossyArray where Wrapped: LossyArray {
  init(lossyElements: [Wrapped.LossyElement]) { self = Wrapped(lossyElements: lossyElements) }
  static var ofNull: Wrapped?? { .some(nil) }
}

/// An element that could not be decoded, with the error that was thrown.
struct ElementFailure {
  var index: Int
  var error: any Error
}

/// The elements of an array that could not be read.
///
/// Only the first have their errors. A body of bad elements needs no more memory than a good one.
struct ElementFailures {
  /// The first failures, at most ``ParserError/PrunedElement/limit``.
  private(set) var first: [ElementFailure] = []
  /// The number of all failures.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ index: Int, _ error: @autoclosure () -> any Error) {
    count += 1
    if first.count < ParserError.PrunedElement.limit { first.append(ElementFailure(index: index, error: error())) }
  }
}

/// The good elements of a collection, for a decoder other than `FastJSONDecoder`.
struct Lossy<Elements: LossyArray>: Decodable {
  private(set) var elements: [Elements.LossyElement] = []
  private(set) var failures = ElementFailures()
  private(set) var isNull = false

  init(from decoder: any Decoder) throws {
    if Elements.ofNull != nil, try decoder.singleValueContainer().decodeNil() {
      isNull = true
      return
    }
    var container = try decoder.unkeyedContainer()
    elements.reserveCapacity(container.count ?? 0)
    while !container.isAtEnd {
      do {
        elements.append(try container.decode(Elements.LossyElement.self))
      } catch {
        failures.append(container.currentIndex, error)
        // A failed `decode` does not advance the container.
        _ = try container.superDecoder()
      }
    }
  }
}
