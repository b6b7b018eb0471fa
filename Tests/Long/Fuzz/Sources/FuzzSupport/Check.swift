import Foundation

/// Ends the program where something does not hold, so that libFuzzer keeps the input that showed
/// it.
public func check(_ holds: Bool, _ message: @autoclosure () -> String) {
  if !holds { violated(message()) }
}

/// Ends the program: what `message` names should never be.
public func violated(_ message: String) -> Never {
  FileHandle.standardError.write(Data("== property violated: \(message)\n".utf8))
  abort()
}

/// Returns the result of `body`; ends the program if it throws.
public func succeed<Value>(_ message: String, _ body: () throws -> Value) -> Value {
  do { return try body() } catch { violated("\(message): \(error)") }
}
