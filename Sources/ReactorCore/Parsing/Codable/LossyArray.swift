import Foundation

/// A collection that can be decoded with its malformed elements left out.
protocol LossyArray: Decodable, SendableMetatype {
  associatedtype LossyElement: Decodable
  init(lossyElements: [LossyElement])
  /// The collection that JSON's null is, where it is one.
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

/// An element that could not be decoded, with the error as it was thrown.
struct ElementFailure {
  var index: Int
  var error: any Error
}

/// The elements that could not be read: the first ones with their errors, of the others the number. So a
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

/// A collection as another decoder than our own reads it, without its malformed elements.
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
        // Passes it.
        _ = try container.superDecoder()
      }
    }
  }
}
