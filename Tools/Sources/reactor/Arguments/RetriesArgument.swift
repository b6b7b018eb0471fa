import ArgumentParser

/// The maximum number of retries of the command line, from 0 to 100.
enum RetriesArgument {
  static func parse(_ text: String) throws -> Int {
    guard let number = Int(text), (0...100).contains(number) else {
      throw ValidationError("give a whole number from 0 (no retries) to 100")
    }
    return number
  }
}
