import Foundation
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization

// The mutations of the tests of their conformance suite.

struct Post: Codable, Equatable, Sendable {
  var id: Int
  var title: String
}

/// Adds a post, without a defect.
struct AddPost: Mutation {
  var id = TemporaryID()
  var title: String
  var tags: Set<String> = ["a", "b", "c", "d", "e", "f"]
  var note: Note?
  var lane: Lane { "posts" }

  /// A member that cannot be compared.
  struct Note: Codable, Sendable {
    var text = "x"
    var next: [Note] = []
  }

  private enum CodingKeys: CodingKey {
    case id, title, tags, note
  }

  init(title: String, note: Note? = Note(next: [Note()])) {
    self.title = title
    self.note = note
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(TemporaryID.self, forKey: .id)
    title = try container.decode(String.self, forKey: .title)
    tags = Set(try container.decode([String].self, forKey: .tags))
    note = try container.decodeIfPresent(Note.self, forKey: .note)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(title, forKey: .title)
    try container.encode(tags.sorted(), forKey: .tags)
    try container.encodeIfPresent(note, forKey: .note)
  }

  func request(_ known: Known) throws -> Resource { try Resource("posts", method: .post, json: ["title": title]) }

  func draft(_ drafts: inout Drafts) {
    let post = Post(id: id.int, title: title)
    drafts.change([Post].self, at: "posts") { posts in
      if !posts.contains(where: { $0.title == post.title }) { posts.append(post) }
    }
    drafts.replace(Post.self, at: "posts/latest") { _ in post }
  }

  static var suite: MutationConformance<Self> {
    MutationConformance(AddPost(title: "Hello"))
      .sample([Post].self, at: "posts", [[], [Post(id: 1, title: "Moon")]], settled: [[Post(id: 7, title: "Hello")]])
      .sample(Post.self, at: "posts/latest", [Post(id: 1, title: "Moon")])
  }
}

/// A mutation with a draft and a request of the test's.
struct Configured: Mutation {
  private let number: Int
  private let body: @Sendable (inout Drafts) -> Void
  private let resource: Resource

  /// All created ones, so that reading returns the saved instance.
  private static let made = Mutex<[Configured]>([])

  init(
    _ resource: Resource = Resource("a", method: .post), _ body: @escaping @Sendable (inout Drafts) -> Void = { _ in }
  ) {
    self = Self.made.withLock { made in
      let configured = Configured(number: made.count, body: body, resource: resource)
      made.append(configured)
      return configured
    }
  }

  private init(number: Int, body: @escaping @Sendable (inout Drafts) -> Void, resource: Resource) {
    self.number = number
    self.body = body
    self.resource = resource
  }

  init(from decoder: any Decoder) throws {
    let number = try decoder.singleValueContainer().decode(Int.self)
    self = Self.made.withLock { $0[number] }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }

  func request(_ known: Known) -> Resource { resource }
  func draft(_ drafts: inout Drafts) { body(&drafts) }
}

struct NeedsKnown: Mutation {
  struct NoValue: Error {}

  func request(_ known: Known) async throws -> Resource {
    let tag = try await known.entityTag(of: "a")
    guard let value = await known.value(Int.self, at: "a") else { throw NoValue() }
    return Resource("a", method: .put, headers: [.ifMatch: tag], body: Data("\(value)".utf8))
  }
}

struct LosesMember: Mutation {
  var title: String
  var body = ""

  private enum CodingKeys: CodingKey { case title }

  func request(_ known: Known) -> Resource { Resource("a", method: .post, body: Data(body.utf8)) }
}

struct MakesID: Mutation {
  var id = TemporaryID()
  var title: String

  init(title: String) { self.title = title }

  init(from decoder: any Decoder) throws {
    title = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .title)
  }

  func request(_ known: Known) -> Resource { Resource("a", method: .post) }
}

struct Nested: Mutation {
  struct Item: Codable, Sendable {
    enum Kind: Sendable { case one, two }
    var kind = Kind.one
    var name = "x"

    private enum CodingKeys: CodingKey { case name }
  }

  var list: [Item]

  func request(_ known: Known) -> Resource { Resource("a", method: .post) }
}

struct Unsaved: Mutation {
  var value = Double.nan
  func request(_ known: Known) -> Resource { Resource("a", method: .post) }
}

struct OnlyTemporary: Mutation {
  struct ID: Codable, Equatable, Sendable {
    var id = TemporaryID()

    init() {}

    init(from decoder: any Decoder) throws {
      id = try TemporaryID(from: decoder)
      guard id.isTemporary else {
        throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no temporary id"))
      }
    }

    func encode(to encoder: any Encoder) throws { try id.encode(to: encoder) }
  }

  var id = ID()
  func request(_ known: Known) -> Resource { Resource("a", method: .post) }
}

struct Nameless: Mutation {
  static var name: String { "" }
  func request(_ known: Known) -> Resource { Resource("a", method: .post) }
}

struct Wandering: Mutation {
  var lane: Lane { Lane(rawValue: UUID().uuidString) }
  func request(_ known: Known) -> Resource { Resource("a", method: .post) }
}
