/// An array that can be decoded with its malformed elements left out.
protocol LossyArray: SendableMetatype {
  /// - Throws: where there is no array; an element that cannot be decoded is among the failures.
  static func decodeLossily(from decoder: any Decoder) throws -> (elements: Self, failures: [ElementFailure])
}

/// Why an element could not be decoded, by the error as it was thrown.
struct ElementFailure {
  var index: Int
  var error: any Error
}

extension Array: LossyArray where Element: Decodable {
  static func decodeLossily(from decoder: any Decoder) throws -> (elements: [Element], failures: [ElementFailure]) {
    var container = try decoder.unkeyedContainer()
    var elements: [Element] = []
    var failures: [ElementFailure] = []
    elements.reserveCapacity(container.count ?? 0)
    while !container.isAtEnd {
      do {
        elements.append(try container.decode(Element.self))
      } catch {
        failures.append(ElementFailure(index: container.currentIndex, error: error))
        _ = try container.decode(Anything.self)
      }
    }
    return (elements, failures)
  }
}

/// Decodes from any value, and so moves a container past it.
private struct Anything: Decodable {
  init(from decoder: any Decoder) {}
}

/// What a decoder is asked for to get an array with its malformed elements left out, in one pass.
struct Lossy<Elements: LossyArray>: Decodable {
  let elements: Elements
  let failures: [ElementFailure]

  init(from decoder: any Decoder) throws {
    (elements, failures) = try Elements.decodeLossily(from: decoder)
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
