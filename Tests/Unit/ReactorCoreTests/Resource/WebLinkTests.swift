import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

@Suite struct `A Link field` {
  private func links(_ values: String...) throws -> [String] {
    let name = try #require(HTTPField.Name("Link"))
    var fields = HTTPFields()
    for value in values { fields.append(HTTPField(name: name, value: value)) }
    return Resource.Link.links(in: fields).map { link in
      ([link.target] + link.parameters.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
    }
  }

  @Test func `a Link field is a list of targets with parameters`() throws {
    #expect(
      try links(#"<https://a.example/x?page=2>; rel="next", </x?page=9>;rel=last"#)
        == ["https://a.example/x?page=2 rel=next", "/x?page=9 rel=last"])
    #expect(try links("<a>", "<b>; rel=next") == ["a", "b rel=next"])
    #expect(try links("<?ids=1,2;3>;rel=next") == ["?ids=1,2;3 rel=next"])
    #expect(
      try links(#"<a>; title="x, \"y\"; z" ; REL = NEXT ; crossorigin"#) == [
        #"a title=x, "y"; z rel=NEXT crossorigin="#
      ])
    #expect(try links(", , <a> ,, <b>") == ["a", "b"])
    #expect(try links("< a >") == ["a"])
  }

  @Test(arguments: ["", "a", "<a", "next", "; rel=next", ">", "<"])
  func `a Link field that is not well-formed has no link`(value: String) throws {
    #expect(try links(value) == [])
  }

  @Test func `a Link field has the links before what is not well-formed`() throws {
    #expect(try links("<a>; rel=next, b, <c>") == ["a rel=next"])
    #expect(try links("<a> b, <c>") == ["a"])
    #expect(try links(#"<a>; rel="next"#) == ["a rel=next"])
  }

  @Test func `a Link field has relation types of the first rel, in lower case`() throws {
    let name = try #require(HTTPField.Name("Link"))
    let link = try #require(Resource.Link.links(in: [name: #"<a>; rel="Next  prefetch"; rel=prev"#]).first)
    #expect(link.relations == ["next", "prefetch"])
    #expect(link["REL"] == "Next  prefetch")
    #expect(link["anchor"] == nil)
  }

  @Test func `a Link field of any bytes is read, each byte once`() throws {
    var chance = SeededGenerator(seed: Chance.seed("A Link field"))
    let name = try #require(HTTPField.Name("Link"))
    for _ in 0..<2_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &chance)).compactMap { _ in
        "<>;,=\"\\ \taré".utf8.randomElement(using: &chance)
      }
      let value = String(decoding: bytes, as: UTF8.self)
      for link in Resource.Link.links(in: [name: value]) { #expect(value.contains("<"), "\(link)") }
    }
  }
}
