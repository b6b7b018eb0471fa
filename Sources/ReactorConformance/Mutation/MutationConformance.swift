public import Foundation
public import ReactorCore
public import ReactorOutbox
public import Testing

/// A conformance suite for your own `Mutation`.
///
/// ```swift
/// @Test func `adding a post keeps the contract`() async {
///   await MutationConformance(AddPost(title: "Hello"))
///     .sample([Post].self, at: "posts", [[], [Post(id: 1, title: "Moon")]])
///     .run()
/// }
/// ```
///
/// It checks that:
///
/// - the mutation survives being saved and read, with every member, and is the same JSON each time;
/// - its name and its lane stay the same;
/// - a draft has the same effect each time, and applied twice the same as once, since the effect
///   may be there already. So `+= 1` and an append without a look are found;
/// - its request can be saved, if it can be made while nothing is known. A request that holds a
///   secret cannot.
///
/// A violated promise is recorded as an issue with its name, at the caller's line. The other checks
/// still run. Nothing is sent.
public struct MutationConformance<M: Mutation>: Sendable {
  let mutation: M
  let probe: MutationProbe<M>
  private(set) var samples: [Sample] = []
  private(set) var releases: [Release] = []

  /// Creates a suite for one mutation. Give each member a value that differs from its default, so
  /// that a lost one is found.
  ///
  /// - Parameters:
  ///   - mutation: The mutation under test.
  ///   - baseURL: The base URL of the layer that it is meant for. Default:
  ///     `https://api.example.com`.
  ///   - configuration: The configuration of that layer, for its names of secret query items.
  public init(_ mutation: M, baseURL: URL? = nil, configuration: ReactorConfiguration = .init()) {
    self.mutation = mutation
    let baseURL = baseURL ?? URL(string: "https://api.example.com") ?? URL(filePath: "/")
    probe = MutationProbe(baseURL: baseURL, configuration: configuration)
  }

  /// Returns the suite with values to apply the drafts of a resource to.
  ///
  /// Every draft needs samples. A resource without a value is a sample by itself.
  ///
  /// - Parameters:
  ///   - type: The model type of the draft.
  ///   - resource: The resource that it applies to.
  ///   - bases: Values that the server may have confirmed.
  ///   - settled: Values that have the effect already, as after the acceptance: the draft changes
  ///     nothing there.
  public func sample<Model: Equatable & Sendable>(
    _ type: Model.Type, at resource: Resource, _ bases: [Model], settled: [Model] = []
  ) -> Self {
    var suite = self
    suite.samples.append(Sample(type, at: resource, bases, settled: settled, probe))
    return suite
  }

  /// Returns the suite with a form that an earlier release has saved, and that this one must read.
  ///
  /// ```swift
  /// .reading(#"{"title":"Hello"}"#, name: "AddPost", version: 1)
  /// ```
  ///
  /// - Parameters:
  ///   - json: The JSON of the mutation.
  ///   - name: The name under which it was saved.
  ///   - version: The version of the mutation's type at that time.
  public func reading(_ json: String, name: String, version: Int) -> Self {
    var suite = self
    suite.releases.append(Release(json: json, name: name, version: version))
    return suite
  }

  /// Runs every check, one after the other.
  public func run(sourceLocation: SourceLocation = #_sourceLocation) async {
    for check in Check.all {
      let subject = Subject(suite: self, check: check.name, location: sourceLocation)
      do {
        try await check.body(subject)
      } catch {
        Issue.record("\(check.name): threw \(error)", sourceLocation: sourceLocation)
      }
    }
  }
}

extension MutationConformance {
  /// A saved form of an earlier release.
  struct Release: Sendable {
    let json: String
    let name: String
    let version: Int
  }

  /// A promise of the contract, and its check.
  struct Check: Sendable {
    let name: String
    let body: @Sendable (Subject) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (Subject) async throws -> Void) {
      self.name = name
      self.body = body
    }

    static var all: [Check] { saving + drafting + requesting }
  }

  /// The mutation under test.
  struct Subject: Sendable {
    let suite: MutationConformance<M>
    let check: String
    let location: SourceLocation

    var mutation: M { suite.mutation }
    var probe: MutationProbe<M> { suite.probe }

    func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
      guard !condition else { return }
      Issue.record("\(check): \(what())", sourceLocation: location)
    }

    /// The mutation after it was saved and read.
    func restored() throws -> M { try probe.read(probe.saved(mutation)) }
  }
}
