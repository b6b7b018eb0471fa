import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization
import Testing

@Suite struct `Conformance of a mutation` {
  @Test func `a mutation without a defect keeps the contract`() async {
    await AddPost.suite
      .reading(#"{"id":"tmp-0E984725-C51C-4BF4-9960-E1C80E27ABA0","title":"a","tags":[]}"#, name: "AddPost", version: 1)
      .run()
  }

  @Test func `a request that needs a known value is not checked`() async {
    await MutationConformance(NeedsKnown()).run()
  }

  @Test func `the same resource may be spelled in another way`() async {
    await MutationConformance(Configured { $0.change(Int.self, at: "/count") { $0 = 1 } })
      .sample(Int.self, at: Resource("count", headers: [.accept: "text/plain"]), [0]).run()
  }

  /// Runs a suite, and returns the issues.
  private func issues(_ suite: MutationConformance<some Mutation>) async -> [String] {
    let issues = Mutex<[String]>([])
    await withKnownIssue {
      await suite.run()
    } matching: { issue in
      issues.withLock { $0.append("\(issue)") }
      return true
    }
    return issues.withLock { $0 }
  }

  /// Expects the violation of one promise, with this text.
  private func expect(
    _ check: String, _ text: String, of suite: MutationConformance<some Mutation>,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let issues = await issues(suite)
    #expect(
      issues.contains { $0.contains(check) && $0.contains(text) }, "\(issues)", sourceLocation: sourceLocation)
    #expect(issues.allSatisfy { $0.contains(check) }, "\(issues)", sourceLocation: sourceLocation)
  }

  @Test func `a draft that counts is found`() async {
    await expect(
      "applied twice", "1 becomes 2, and the second time 3",
      of: MutationConformance(Configured { $0.change(Int.self, at: "count") { $0 += 1 } })
        .sample(Int.self, at: "count", [1]))
  }

  @Test func `a draft that appends without a look is found`() async {
    await expect(
      "applied twice", #"[] becomes ["a"], and the second time ["a", "a"]"#,
      of: MutationConformance(Configured { $0.change([String].self, at: "names") { $0.append("a") } })
        .sample([String].self, at: "names", [[]]))
  }

  @Test func `a draft that counts where there is no value is found`() async {
    await expect(
      "applied twice", "no value becomes 1, and the second time 2",
      of: MutationConformance(Configured { $0.replace(Int.self, at: "count") { ($0 ?? 0) + 1 } })
        .sample(Int.self, at: "count", []))
  }

  @Test func `two drafts that undo each other are found`() async {
    let suite = MutationConformance(
      Configured {
        $0.change(Int.self, at: "count") { $0 = $0 == 1 ? 2 : 1 }
        $0.change(Int.self, at: "count") { $0 *= 10 }
      })
    await expect("applied twice", "1 becomes 20, and the second time 10", of: suite.sample(Int.self, at: "count", [1]))
  }

  @Test func `a draft of another value each time is found`() async {
    let suite = MutationConformance(
      Configured { $0.change(String.self, at: "id") { [id = UUID()] in $0 = "\(id)" } })
    let issues = await issues(suite.sample(String.self, at: "id", [""]))
    #expect(issues.contains { $0.contains("same effect each time") && $0.contains(" the next time ") })
    #expect(issues.contains { $0.contains("same effect each time") && $0.contains(" after decoding ") })
  }

  @Test func `a draft that changes what has its effect is found`() async {
    await expect(
      "does not change a value that has its effect", #"["b", "a"] has the effect, but becomes ["a", "b"]"#,
      of: MutationConformance(Configured { $0.change([String].self, at: "names") { $0.sort() } })
        .sample([String].self, at: "names", [["a"]], settled: [["b", "a"], ["a", "b"]]))
  }

  @Test func `a draft without a sample, and a sample without a draft, are found`() async {
    let mutation = Configured { $0.change(Int.self, at: "count") { $0 = 1 } }
    let check = "each draft has samples"
    await expect(check, "a draft changes Int at GET count, and no sample tests it", of: MutationConformance(mutation))
    let suite = MutationConformance(mutation).sample(Int.self, at: "count", [0])
    await expect(
      check, "no draft changes the sample of Int at GET counts", of: suite.sample(Int.self, at: "counts", [0]))
    await expect(
      check, "no draft changes the sample of String at GET count", of: suite.sample(String.self, at: "count", [""]))
  }

  @Test func `a draft over what is never read is found`() async {
    let resource = Resource("count", method: .post)
    await expect(
      "a resource that can be read", "no value to draft over",
      of: MutationConformance(Configured { $0.change(Int.self, at: resource) { $0 = 1 } })
        .sample(Int.self, at: resource, [0]))
  }

  @Test func `a member that is not saved is found`() async {
    let issues = await issues(MutationConformance(LosesMember(title: "a", body: "b")))
    #expect(issues.contains { $0.contains("decoded as it was encoded: ") && $0.contains(#"LosesMember.body is "b""#) })
    #expect(issues.allSatisfy { $0.contains("decoded as it was encoded") || $0.contains("same request") })
  }

  @Test func `a member that is made again with each reading is found`() async {
    let issues = await issues(MutationConformance(MakesID(title: "a")))
    #expect(issues.contains { $0.contains("same JSON") })
    #expect(issues.contains { $0.contains("decoded as it was encoded") && $0.contains("MakesID.id") })
  }

  @Test func `a member inside of others is found`() async {
    await expect(
      "decoded as it was encoded", "Nested.list.1.kind",
      of: MutationConformance(Nested(list: [.init(kind: .one), .init(kind: .two)])))
  }

  @Test func `a mutation that cannot be saved is found`() async {
    let issues = await issues(MutationConformance(Unsaved()))
    #expect(issues.contains { $0.contains("same JSON") && $0.contains("Unsaved cannot be encoded") })
  }

  @Test func `a mutation that only reads temporary ids is found`() async {
    await expect("server ids", "decoding fails", of: MutationConformance(OnlyTemporary()))
  }

  @Test func `a name that changes, or is empty, is found`() async {
    await expect("has a name", "the name is empty", of: MutationConformance(Nameless()))
    await expect("has a name", "the lane", of: MutationConformance(Wandering()))
  }

  @Test func `a saved form of an earlier release that cannot be read is found`() async {
    let check = "mutations that earlier releases saved can be decoded"
    let suite = AddPost.suite
    let json = #"{"id":"7","title":"","tags":[]}"#
    await expect(check, "its name is AddPost", of: suite.reading(json, name: "Add", version: 1))
    await expect(check, "version 1 cannot be decoded", of: suite.reading("{}", name: "AddPost", version: 1))
    await expect(check, "version 0 cannot be decoded", of: suite.reading("{}", name: "AddPost", version: 0))
  }

  @Test(arguments: [
    (Resource("a", method: .post, headers: [.authorization: "Bearer sentinel"]), "Authorization"),
    (Resource("a", method: .post, query: ["token": "sentinel"]), "a secret"),
    (Resource("a", method: .get), "read-only"),
    (Resource("a", method: .post, headers: [.contentLength: "1"]), "Content-Length"),
  ])
  func `a request that cannot be saved is found`(_ request: Resource, _ text: String) async {
    let issues = await issues(MutationConformance(Configured(request)))
    #expect(issues.contains { $0.contains("a request can be saved and sent") && $0.contains(text) }, "\(issues)")
    #expect(!issues.contains { $0.contains("sentinel") })
  }

  @Test func `names of secret query items are those of the configuration`() async {
    var configuration = ReactorConfiguration()
    configuration.secretQueryItems = ["pin"]
    let request = Resource("a", method: .post, query: ["pin": "1", "token": "2"])
    await expect(
      "a request can be saved", "a secret",
      of: MutationConformance(Configured(request), configuration: configuration))
    let harmless = Configured(Resource("a", method: .post, query: ["token": "2"]))
    await MutationConformance(harmless, configuration: configuration).run()
  }
}
