import Foundation
import HTTPCaching
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

struct RecordKeysTests {
  private let bench = Bench()

  private func url(_ resource: Resource) throws -> String { try bench.layer.layer.key(resource).url }

  @Test func `each resource has its own key, however many were requested before`() throws {
    for _ in 0..<2 {
      for number in 0..<500 {
        #expect(try url(Resource("items/\(number)")) == "\(Bench.url)/items/\(number)")
        #expect(try url(Resource("items", query: ["q": "\(number)"])) == "\(Bench.url)/items?q=\(number)")
      }
    }
  }

  @Test func `resources that differ in one property have separate keys, requested in turn`() throws {
    func keys() throws -> [RecordKey] {
      var german = Resource("a", headers: [.acceptLanguage: "de"])
      german.identityHeaders = [.acceptLanguage]
      var french = german
      french.headers[.acceptLanguage] = "fr"
      let searches = ["1", "2"].map { Resource("a", method: .post, body: Data($0.utf8)) }
      return try ([german, french, Resource("a"), Resource("A"), Resource("a", method: .head)] + searches)
        .map(bench.layer.layer.key)
    }
    let first = try keys()
    #expect(Set(first).count == 7)
    #expect(try keys() == first)
  }

  @Test func `a refused resource is refused again`() {
    for _ in 0..<2 {
      #expect(throws: ReactorError.self) { try url(Resource("a", headers: [.range: "bytes=0-1"])) }
    }
  }
}
