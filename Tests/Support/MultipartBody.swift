public import Foundation

/// A `multipart/form-data` body, read as a strict server does (RFC 2046 §5.1.1, RFC 7578 §4),
/// without the code that writes one.
public struct MultipartBody {
  public struct Part: Equatable, Sendable {
    public var name: String
    public var fileName: String?
    public var contentType: String?
    public var bytes: Data
  }

  public struct Invalid: Error, CustomStringConvertible {
    public let description: String
  }

  public var parts: [Part] = []

  /// - Throws: ``Invalid`` for everything that a server may refuse.
  public init(_ body: Data, contentType: String) throws {
    let prefix = "multipart/form-data; boundary="
    guard contentType.hasPrefix(prefix) else { throw Invalid(description: "the type is \(contentType)") }
    let boundary = contentType.dropFirst(prefix.count)
    let isToken = boundary.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    guard (1...70).contains(boundary.count), isToken else { throw Invalid(description: "the boundary is \(boundary)") }
    let (line, end) = (Data("--\(boundary)\r\n".utf8), Data("--\(boundary)--\r\n".utf8))
    var rest = body[...]
    while !rest.elementsEqual(end) {
      guard rest.starts(with: line) else { throw Invalid(description: "no boundary at byte \(rest.startIndex)") }
      rest = rest.dropFirst(line.count)
      guard let head = rest.range(of: Data("\r\n\r\n".utf8)) else { throw Invalid(description: "an endless head") }
      var part = try Self.part(head: String(decoding: rest[..<head.lowerBound], as: UTF8.self))
      rest = rest[head.upperBound...]
      guard let next = rest.range(of: Data("\r\n--\(boundary)".utf8)) else {
        throw Invalid(description: "the part \(part.name) has no end")
      }
      part.bytes = Data(rest[..<next.lowerBound])
      rest = rest[next.lowerBound...].dropFirst(2)
      parts.append(part)
    }
  }

  private static func part(head: String) throws -> Part {
    var fields: [String: String] = [:]
    for line in head.components(separatedBy: "\r\n") {
      guard let colon = line.firstIndex(of: ":") else { throw Invalid(description: "the field \(line)") }
      let name = line[..<colon].lowercased()
      guard fields.updateValue(line[colon...].dropFirst().trimmingCharacters(in: .whitespaces), forKey: name) == nil
      else { throw Invalid(description: "the field \(name) comes twice") }
    }
    guard var disposition = fields["content-disposition"].map({ $0[...] }), disposition.hasPrefix("form-data") else {
      throw Invalid(description: "no Content-Disposition in \(head)")
    }
    disposition = disposition.dropFirst("form-data".count)
    var parameters: [Substring: Substring] = [:]
    while !disposition.isEmpty {
      guard let match = disposition.prefixMatch(of: /; (name|filename)="([^"\r\n]*)"/) else {
        throw Invalid(description: "the parameters \(disposition)")
      }
      guard parameters.updateValue(match.2, forKey: match.1) == nil else {
        throw Invalid(description: "the parameter \(match.1) comes twice")
      }
      disposition = disposition[match.range.upperBound...]
    }
    guard let name = parameters["name"] else { throw Invalid(description: "a part without a name") }
    return Part(
      name: String(name), fileName: parameters["filename"].map(String.init), contentType: fields["content-type"],
      bytes: Data())
  }
}
