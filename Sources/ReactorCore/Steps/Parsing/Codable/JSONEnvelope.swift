import Foundation

/// The value at a path, which a decoder reaches through its containers.
///
/// It serves texts that are not strict JSON, which only the decoder can read.
struct JSONEnvelope<Model: Decodable>: DecodableWithConfiguration {
  let model: Model

  init(from decoder: any Decoder, configuration path: JSONPath) throws {
    var decoder = decoder
    for component in path.components { decoder = try Self.step(component, in: decoder) }
    model = try decoder.singleValueContainer().decode(Model.self)
  }

  private static func step(_ component: JSONPath.Component, in decoder: any Decoder) throws -> any Decoder {
    if let index = component.index, var elements = try? decoder.unkeyedContainer() {
      while !elements.isAtEnd, elements.currentIndex < index { _ = try elements.superDecoder() }
      return try elements.superDecoder()
    }
    let members = try decoder.container(keyedBy: JSONPath.Key.self)
    let name = JSONPath.Key(name: component.name)
    guard members.contains(name) else {
      let context = DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "")
      throw DecodingError.keyNotFound(name, context)
    }
    return try members.superDecoder(forKey: name)
  }
}

extension JSONPath {
  /// Returns the JSON text `value` inside of objects that have it at this path.
  ///
  /// An index becomes the name of a member, since a key path reads a number as either.
  func envelope(_ value: Data) -> Data {
    var writer = JSONWriter(sortedKeys: true)
    for component in components { writer.open(component.name) }
    var bytes = Data(writer.bytes)
    bytes.append(value)
    bytes.append(contentsOf: repeatElement(UInt8(ascii: "}"), count: components.count))
    return bytes
  }
}
