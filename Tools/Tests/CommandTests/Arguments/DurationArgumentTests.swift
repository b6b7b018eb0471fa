import ReactorCore
import Testing

@testable import reactor

@Suite struct `A duration on the command line` {
  @Test(arguments: [
    ("500ms", Duration.milliseconds(500)), ("1s", .seconds(1)), ("5m", .seconds(300)), ("2h", .seconds(7_200)),
    ("0s", .zero), ("007s", .seconds(7)),
  ])
  func `a duration on the command line is a whole number and a unit`(text: String, duration: Duration) throws {
    #expect(try DurationArgument.parse(text) == duration)
  }

  @Test(arguments: [
    "9223372036854775807h", "9223372036854775807s", "9223372036854775808ms", "99999999999999999999999999999999m",
  ])
  func `saturates`(text: String) throws {
    #expect(try DurationArgument.parse(text) == .never)
  }

  @Test(arguments: [
    ("", "begins with a whole number"), ("s", "begins with a whole number"), ("-1s", "begins with a whole number"),
    ("5", "the unit is missing"), ("1.5s", "'.5s' is not a unit"), ("1 s", "' s' is not a unit"),
    ("1d", "'d' is not a unit"),
    ("1S", "'S' is not a unit"), ("1s1", "'s1' is not a unit"), ("١s", "begins with a whole number"),
    ("1e3s", "'e3s' is not a unit"),
  ])
  func `a duration on the command line says what is wrong with it`(text: String, problem: String) {
    let error = #expect(throws: (any Error).self) { try DurationArgument.parse(text) }
    #expect("\(String(describing: error))".contains(problem))
  }

  @Test func `a duration on the command line is more than zero as a timeout`() throws {
    #expect(try DurationArgument.parsePositive("1ms") == .milliseconds(1))
    #expect(throws: (any Error).self) { try DurationArgument.parsePositive("0s") }
  }
}
