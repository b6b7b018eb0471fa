import ArgumentParser
import Foundation

/// The member names of the command line: `id,title`.
enum RequireArgument {
  static func parse(_ text: String) throws -> [String] {
    let names = text.split(separator: ",", omittingEmptySubsequences: false)
      .map { $0.trimmingCharacters(in: .whitespaces) }
    guard names.allSatisfy({ !$0.isEmpty }) else {
      throw ValidationError("write members as id,title: names separated by single commas")
    }
    return names
  }
}
