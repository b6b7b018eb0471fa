import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("A structured field") struct StructuredFieldTests {
  private func fields(_ lines: [String]) -> HTTPFields {
    var fields = HTTPFields()
    for line in lines { fields.append(HTTPField(name: Self.name, value: line)) }
    return fields
  }

  private func parse(_ lines: String...) -> [String: StructuredField.Value]? {
    StructuredField.dictionary(fields(lines), Self.name)?.mapValues(\.value)
  }

  private func list(_ lines: String...) -> [StructuredField.Item]? {
    StructuredField.list(fields(lines), Self.name)
  }

  private static let name = HTTPField.Name("CDN-Cache-Control") ?? .cacheControl

  @Test func `has values of each type`() {
    #expect(
      parse("a, b=?0, c=?1, d=60, e=-1, f=1.5") == [
        "a": .boolean(true), "b": .boolean(false), "c": .boolean(true), "d": .integer(60), "e": .integer(-1),
        "f": .decimal(1.5),
      ])
    #expect(
      parse(#"a="x\"\\y", b=tok*en/1:2, c=:aGk=:, d=@1659578233, e=%"f%c3%bc", f=(1 "a";b c)"#)
        == [
          "a": .string(#"x"\y"#), "b": .token("tok*en/1:2"), "c": .other, "d": .date(1_659_578_233), "e": .other,
          "f": .innerList([
            .init(value: .integer(1)), .init(value: .string("a"), parameters: ["b": .boolean(true)]),
            .init(value: .token("c")),
          ]),
        ])
  }

  @Test func `is one over several lines, and its last value of a key counts`() {
    #expect(parse("a=1, b", "a=2") == ["a": .integer(2), "b": .boolean(true)])
    #expect(parse("  a=1\t ,\t b  ") == ["a": .integer(1), "b": .boolean(true)])
    #expect(parse() == [:])
    #expect(parse("") == [:])
  }

  @Test func `is a list of items with parameters, over all lines`() {
    #expect(list(#""a";r=0;t=9, tok ;q=1.5"#, "(1 2);x") == nil)
    #expect(
      list(#""a";r=0;t=9, tok; q=1.5;b"#, "(1);x") == [
        .init(value: .string("a"), parameters: ["r": .integer(0), "t": .integer(9)]),
        .init(value: .token("tok"), parameters: ["q": .decimal(1.5), "b": .boolean(true)]),
        .init(value: .innerList([.init(value: .integer(1))]), parameters: ["x": .boolean(true)]),
      ])
    #expect(list() == [] && list("a,") == nil && list("a b") == nil)
  }

  @Test func `has parameters, which are no members`() {
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
