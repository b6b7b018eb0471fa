import ArgumentParser
import Foundation

/// The member names of the command line: `id,title`.
enum RequireArgument {
  static func parse(_ text: String) throws -> [String] {
    let names = text.split(separator: ",", omittingEmptySubsequences: false)
      .map { $0.trimmingCharacters(in: .whitespaces) }
    guard names.allSatisfy({ !$0.isEmpty }) else {
      throw ValidationError("members are written id,title: names with one comma between them")
    }
    return names
  }
}
