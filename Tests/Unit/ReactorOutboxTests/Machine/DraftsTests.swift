import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore
import ReactorWrites
import Testing

@testable import ReactorOutbox

@Suite struct `The drafts of a mutation` {
  private func key(_ resource: Resource) throws(ReactorError) -> RecordKey {
    guard !resource.path.hasPrefix("!") else { throw .invalidResource("") }
    let path = resource.path.hasPrefix("/") ? resource.path : "/" + resource.path
    return RecordKey(method: .get, url: "https://api.example.com\(path)")
  }

  private func drafts(_ make: (inout Drafts) -> Void) -> Drafts {
    var drafts = Drafts()
    make(&drafts)
    return drafts
  }

  @Test func `the drafts of a mutation apply to their record in order`() {
    let drafts = drafts {
      $0.change(Int.self, at: "count") { $0 += 1 }
      $0.change(Int.self, at: "other") { $0 = 100 }
      $0.replace(Int.self, at: "count") { $0.map { $0 * 10 } }
    }
    #expect(drafts.applied(to: 2, of: "count", key: key) == 30)
    #expect(drafts.applied(to: 2, of: "other", key: key) == 100)
    #expect(drafts.applied(to: 2, of: "none", key: key) == 2)
  }

  @Test func `drafts apply only to values of their type`() {
    let drafts = drafts {
      $0.change(Int.self, at: "count") { $0 += 1 }
      $0.change(String.self, at: "count") { $0 += "!" }
    }
    #expect(drafts.applied(to: 2, of: "count", key: key) == 3)
    #expect(drafts.applied(to: "2", of: "count", key: key) == "2!")
    #expect(drafts.applied(to: UInt(2), of: "count", key: key) == 2)
  }

  @Test func `drafts change an existing value, and replace a missing one`() {
    let drafts = drafts {
      $0.change(Int.self, at: "a") { $0 += 1 }
      $0.replace(Int.self, at: "b") { ($0 ?? 10) + 1 }
      $0.replace(Int.self, at: "c") { _ in nil }
    }
    #expect(drafts.applied(to: Int?.none, of: "a", key: key) == nil)
    #expect(drafts.applied(to: Int?.none, of: "b", key: key) == 11)
    #expect(drafts.applied(to: 1, of: "c", key: key) == nil)
  }

  @Test func `the drafts of a mutation apply to a record however its resource is spelled`() {
    var resource: Resource = "/count"
    resource.freshFor = .seconds(5)
    resource.groups = ["counts"]
    let drafts = drafts { $0.change(Int.self, at: resource) { $0 += 1 } }
    #expect(drafts.applied(to: 2, of: "count", key: key) == 3)
    #expect(drafts.applied(to: 2, of: "!count", key: key) == 2)
  }

  @Test func `drafts are made in the order of their changes, with the key of their resource`() throws {
    let id = UUID()
    let made = try drafts {
      $0.change(Int.self, at: "a") { $0 += 1 }
      $0.change(Int.self, at: "b") { $0 += 1 }
    }.made(of: id, key: key)
    #expect(made.map(\.key) == [try key("a"), try key("b")])
    #expect(made.allSatisfy { $0.id == id })
    #expect(try Drafts().made(of: id, key: key).isEmpty)
  }

  @Test func `the drafts of a mutation are refused over what cannot be requested, or is never stored`() {
    for resource in ["!a", Resource("a", method: .post)] {
      let drafts = drafts { $0.change(Int.self, at: resource) { $0 += 1 } }
      #expect(throws: ReactorError.self) { try drafts.made(of: UUID(), key: key) }
    }
    var search = Resource("a", method: .post)
    search.isReadOnly = true
    let drafts = drafts { $0.change(Int.self, at: search) { $0 += 1 } }
    #expect(throws: Never.self) { try drafts.made(of: UUID(), key: key) }
  }
}
