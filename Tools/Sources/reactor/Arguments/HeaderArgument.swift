import ArgumentParser
import HTTPTypes

/// A header field of the command line: `Name: value`.
enum HeaderArgument {
  static func parse(_ text: String) throws -> HTTPField {
    // Unicode scalars are compared, since CR and LF together are one `Character`.
    guard !text.unicodeScalars.contains(where: { $0 == "\n" || $0 == "\r" || $0 == "\0" }) else {
      throw ValidationError("a header cannot contain a newline or a NUL")
    }
    guard let colon = text.firstIndex(of: ":") else { throw ValidationError("write a header as 'Name: value'") }
    guard let name = HTTPField.Name(String(text[..<colon])) else {
      throw ValidationError("the text before the colon is not a valid header name (RFC 9110 §5.1)")
    }
    let value = text[text.index(after: colon)...].trimming { $0 == " " || $0 == "\t" }
    guard HTTPField.isValidValue(value) else {
      throw ValidationError("the value has a character that a header cannot contain")
    }
    return HTTPField(name: name, value: value)
  }
}

extension Substring {
  fileprivate func trimming(_ isTrimmed: (Character) -> Bool) -> String {
    var text = drop(while: isTrimmed)
    while let last = text.last, isTrimmed(last) { text.removeLast() }
    return String(text)
  }
}
