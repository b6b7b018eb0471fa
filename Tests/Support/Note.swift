/// The model of most tests.
public struct Note: Codable, Sendable, Hashable {
  public var id: Int
  public var text: String

  public init(_ id: Int, _ text: String) {
    self.id = id
    self.text = text
  }

  public var json: String { #"{"id":\#(id),"text":"\#(text)"}"# }
}
