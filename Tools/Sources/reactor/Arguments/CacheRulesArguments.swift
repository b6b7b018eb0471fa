import ArgumentParser
import HTTPTypes

/// The value of `--rules`.
enum RulesArgument: String, CaseIterable, ExpressibleByArgument {
  case `private`, shared
}

/// The value of `--targets`: names of fields (RFC 9213 §2.2), separated by commas.
struct TargetsArgument: Sendable, Equatable {
  let names: [HTTPField.Name]

  static func parse(_ text: String) throws -> TargetsArgument {
    let names = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
      let name = part.drop { $0 == " " }
      return HTTPField.Name(String(name)).flatMap { [.cacheControl, .expires, .pragma].contains($0) ? nil : $0 }
    }
    guard names.allSatisfy({ $0 != nil }) else {
      throw ValidationError("give names of targeted fields, such as Reactor-Cache-Control,CDN-Cache-Control")
    }
    return TargetsArgument(names: names.compactMap { $0 })
  }
}

extension HTTPField.Name {
  fileprivate static let pragma = HTTPField.Name("Pragma") ?? .cacheControl
}

/// The value of `--cache-status`: the name of this cache, of 1 to 64 characters of ASCII (RFC 9211
/// §2).
struct StatusNameArgument: Sendable, Equatable {
  let name: String

  static func parse(_ text: String) throws -> StatusNameArgument {
    guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      throw ValidationError("give a name of 1 to 64 characters of ASCII, such as edge-1")
    }
    return StatusNameArgument(name: text)
  }
}
