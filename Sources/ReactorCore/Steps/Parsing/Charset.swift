import FastJSON
import Foundation
import HTTPCaching

/// The charset of a text, by its IANA name in lower case.
struct Charset {
  private let name: String

  /// Creates the charset that a content type names, or UTF-8.
  ///
  /// - Parameter contentType: A value such as `text/plain; charset="utf-8"`.
  init(contentType: String?) {
    name = ContentType.charset(of: contentType)
  }

  func text(_ data: Data) throws(ParserError) -> String {
    guard let encoding = Self.encodings[name] else {
      throw ParserError(.unacceptable, expected: "expected text in a charset that is known, found \(name)")
    }
    let isUTF8 = encoding == .utf8
    let bytes = isUTF8 && data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data
    guard let text = isUTF8 ? String(validating: bytes, as: UTF8.self) : String(data: bytes, encoding: encoding) else {
      throw ParserError(
        .unacceptable,
        expected:
          "expected text in \(name), but the bytes are not valid \(name); use Data as the model for binary content")
    }
    return text
  }

  /// Returns a JSON text in UTF-8.
  ///
  /// JSON is UTF-8, whatever its content type says (RFC 8259 §8.1). Bytes that are not are read in
  /// the charset that the content type names, if that charset is known. FastJSON detects UTF-16 and
  /// UTF-32.
  static func json(_ data: Data, contentType: String?) -> Data {
    guard let contentType, !ContentType.isUTF8(contentType) else { return data }
    let charset = Charset(contentType: contentType)
    guard charset.name != "utf-8", let encoding = encodings[charset.name], encoding != .utf8,
      String(validating: data, as: UTF8.self) == nil,
      FastJSONDecoder.utf8(data) == nil, let text = String(data: data, encoding: encoding)
    else { return data }
    return Data(text.utf8)
  }

  private static let encodings: [String: String.Encoding] = [
    "utf-8": .utf8, "utf8": .utf8, "us-ascii": .ascii, "ascii": .ascii, "iso-8859-1": .isoLatin1, "latin1": .isoLatin1,
    "iso-8859-2": .isoLatin2, "windows-1250": .windowsCP1250, "windows-1251": .windowsCP1251,
    "windows-1252": .windowsCP1252, "windows-1253": .windowsCP1253, "windows-1254": .windowsCP1254,
    "utf-16": .utf16, "utf-16le": .utf16LittleEndian, "utf-16be": .utf16BigEndian, "utf-32": .utf32,
    "euc-jp": .japaneseEUC, "shift_jis": .shiftJIS, "iso-2022-jp": .iso2022JP,
  ]
}
