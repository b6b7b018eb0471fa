import Foundation
import ReactorCore

struct Writer: Codable, Hashable, Sendable {
  var name: String
}

struct Story: Codable, Hashable, Sendable {
  var id: Int
  var title: String
  var writer: Writer?
}

struct MappedWriter: Mappable, Hashable {
  var name: String

  static func mapToModel(_ json: JSONValue) throws -> MappedWriter { MappedWriter(name: try json.string("name")) }
  func mapToJSON() -> JSONValue { ["name": .string(name)] }
}

struct MappedStory: Mappable, Hashable {
  var id: Int
  var writer: MappedWriter?

  static func mapToModel(_ json: JSONValue) throws -> MappedStory {
    MappedStory(id: try json.integer("id"), writer: try json.modelIfPresent("writer"))
  }
  func mapToJSON() -> JSONValue {
    ["id": .integer(Int64(id)), "writer": writer?.mapToJSON() ?? .null]
  }
}

/// An error that a user's model throws.
final class NotAnAddress: Error, CustomStringConvertible {
  let text: String
  init(_ text: String) { self.text = text }
  var description: String { "\(text) is no address" }
}

struct Address: Codable, Hashable, Sendable {
  var text: String

  init(from decoder: any Decoder) throws {
    text = try decoder.singleValueContainer().decode(String.self)
    guard text.contains("@") else { throw NotAnAddress(text) }
  }
}

extension String {
  var data: Data { Data(utf8) }
}

extension Data {
  var text: String { String(decoding: self, as: UTF8.self) }
}
