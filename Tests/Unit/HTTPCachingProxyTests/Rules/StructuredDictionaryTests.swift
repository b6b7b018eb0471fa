import HTTPTypes
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

@Suite("A dictionary of structured fields") struct StructuredDictionaryTests {
  private func parse(_ lines: String...) -> [String: StructuredDictionary.Value]? {
    var fields = HTTPFields()
    for line in lines { fields.append(HTTPField(name: Self.name, value: line)) }
    return StructuredDictionary(fields, Self.name)?.members
  }

  private static let name = HTTPField.Name("CDN-Cache-Control") ?? .cacheControl

  @Test func `has booleans and integers, and others of no use to caches`() {
    #expect(
      parse("a, b=?0, c=?1, d=60, e=-1, f=1.5") == [
        "a": .boolean(true), "b": .boolean(false), "c": .boolean(true), "d": .integer(60), "e": .integer(-1),
        "f": .other,
      ])
    #expect(parse(#"a="x\"\\y", b=tok*en/1:2, c=:aGk=:, d=@1659578233, e=%"f%c3%bc", f=(1 "a";b c)"#)?.count == 6)
    #expect(parse(#"a="x", b=x"#) == ["a": .other, "b": .other])
  }

  @Test func `is one over several lines, and its last value of a key counts`() {
    #expect(parse("a=1, b", "a=2") == ["a": .integer(2), "b": .boolean(true)])
    #expect(parse("  a=1\t ,\t b  ") == ["a": .integer(1), "b": .boolean(true)])
    #expect(parse() == [:])
    #expect(parse("") == [:])
  }

  @Test func `drops parameters`() {
    #expect(parse(#"max-age=60;a;b=1;c="d", no-store; e=?0"#) == ["max-age": .integer(60), "no-store": .boolean(true)])
  }

  @Test(arguments: [
    "a=1,", "a=1,,b", ",a", "a b", "A=1", "a =1", "a= 1", "a=", "a=1.", "a=1.1234", "a=1234567890123456", "a=--1",
    "a=?2",
    #"a="b"#, #"a="\b""#, "a=\"ü\"", "a=:b", "a=:b!:", "a=@1.5", "a=@x", #"a=%"%C3""#, #"a=%"%c3""#, "a=%x",
    "a=(1",
    "a=(1,2)", "a=(1\"b\")", "a=[", "a;=1", "a;b=", "a=1;B", "1=2", "max-age=60 no-store",
  ])
  func `is ignored whole where a part of it is invalid`(line: String) { #expect(parse(line) == nil) }
}
