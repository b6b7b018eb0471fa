import HTTPCachingProxy
import Testing

@testable import ReactorFleet

@Suite("The scopes that each beat asks for")
struct FleetScopesTests {
  private let always = [Fleet.allScopes, Fleet.digest(of: .shared)].sorted()

  @Test func `the shared ones are requested from the start, and never forgotten`() {
    var scopes = FleetScopes()
    #expect(scopes.followed == always)
    for scope in always { scopes.learn("1", of: scope, at: .zero) }
    #expect(scopes.forget(at: .seconds(1_000_000), except: []).isEmpty && scopes.followed == always)
  }

  @Test func `a scope that is unused for ten minutes is forgotten, and the others stay`() {
    var scopes = FleetScopes()
    for scope in ["a", "b", "c"] { scopes.learn("1", of: scope, at: .zero) }
    #expect(scopes.use("b", at: .seconds(400)) == "1")
    #expect(scopes.forget(at: .seconds(599), except: []).isEmpty)
    #expect(scopes.forget(at: .seconds(600), except: ["c"]) == ["a"])
    #expect(scopes["a"] == nil && scopes["b"] == "1" && scopes["c"] == "1")
    #expect(scopes.use("a", at: .seconds(601)) == nil)
  }

  @Test func `of more than a thousand scopes, the most recently used stay`() {
    var scopes = FleetScopes()
    for number in 0...FleetScopes.limit { scopes.learn("1", of: "\(number)", at: .milliseconds(number)) }
    let forgotten = scopes.forget(at: .seconds(2), except: [])
    #expect(forgotten.count == FleetScopes.limit / 2 + 1)
    #expect(scopes["0"] == nil && scopes["\(FleetScopes.limit)"] == "1")
    #expect(scopes.followed.count == FleetScopes.limit / 2 + 2)
  }

  @Test func `a new generation of a scope that is not known adds nothing`() {
    var scopes = FleetScopes()
    #expect(!scopes.update("1", of: "a") && scopes["a"] == nil && scopes.followed == always)
    scopes.learn("1", of: "a", at: .zero)
    #expect(!scopes.update("1", of: "a") && scopes.update("2", of: "a") && scopes["a"] == "2")
  }
}
