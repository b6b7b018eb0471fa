public import ReactorCore

/// A change for the server as a value: the request, and the draft that is shown until the server
/// has answered.
///
/// ```swift
/// struct AddPost: Mutation {
///   var id = TemporaryID()
///   var title: String
///
///   func request(_ known: Known) throws -> Resource {
///     try Resource("posts", method: .post, json: ["title": title])
///   }
///   func draft(_ drafts: inout Drafts) {
///     let post = Post(id: id.int, title: title)
///     drafts.change([Post].self, at: "posts") { posts in
///       if !posts.contains(where: { $0.id == post.id }) { posts.append(post) }
///     }
///   }
///   func settle(_ post: Post, _ settlement: inout Settlement) {
///     settlement.identify(id, as: post.id)
///   }
/// }
///
/// try await layer.submit(AddPost(title: "Hello"))
/// ```
///
/// A mutation is saved as JSON, so it survives the process, and a later release of the program may
/// send it. Put no secret into it: middlewares add credentials when the request is sent.
///
/// Its methods may be called from any isolation, and more than once.
public protocol Mutation: Codable, Sendable {
  /// The type of the response's model. Default: `Void`, which ignores the body.
  associatedtype Answer: Sendable = Void

  /// The name under which it is saved. Keep it the same in every release. Default: the type's name.
  ///
  /// ```swift
  /// static let name = "AddPost"
  /// ```
  static var name: String { get }
  /// The version of the saved form. Default: 1.
  static var version: Int { get }
  /// Returns the current form of a mutation that an earlier version has saved.
  ///
  /// - Throws: Any error. The entry is then unreadable: it is kept and listed, and not sent. The
  ///   default throws for every version but the current one.
  static func migrate(_ saved: JSONValue, from version: Int) throws -> JSONValue

  /// The lane of the mutation: the entries of a lane are sent one after the other. Default:
  /// ``Lane/main``.
  var lane: Lane { get }

  /// Returns the request. Called when the turn of the mutation comes, and again after a conflict.
  ///
  /// The request is saved before it is sent. Until its outcome is known, only the same bytes are
  /// sent again. A request that holds `Authorization`, `Cookie` or a secret query item is refused.
  ///
  /// - Parameter known: The values that the server has confirmed by then.
  /// - Throws: Any error. A network failure counts as an attempt that was not sent; any other error
  ///   refuses the mutation.
  func request(_ known: Known) async throws -> Resource

  /// Adds the drafts that are shown until the server has answered. Default: none.
  ///
  /// A draft runs again for each newer value. So make its effect idempotent: set, insert unless
  /// present, remove; never `+= 1`. `MutationConformance` of ReactorTesting checks that.
  func draft(_ drafts: inout Drafts)

  /// Checks a successful response before it takes effect, for a server that answers 200 and says in
  /// the body that it has not carried out the mutation. Default: does nothing.
  ///
  /// It is not called for an answer that cannot be read.
  ///
  /// - Throws: Any error. It refuses the mutation, and ``Submission/answer()`` throws it.
  ///   `ReactorError.authentication` waits for a sign-in instead, and `ReactorError.Diverted`
  ///   leaves the mutation unresolved.
  func check(_ answer: Answer) throws

  /// Handles the accepted response: ids that the server has given, and resources that are stale.
  /// Default: does nothing.
  func settle(_ answer: Answer, _ settlement: inout Settlement)

  /// The treatment of a conflict. Default: ``ConflictPolicy/rebase``.
  static var onConflict: ConflictPolicy { get }
}

extension Mutation {
  /// The name of the type.
  public static var name: String { String(describing: Self.self) }
  /// The first version: 1.
  public static var version: Int { 1 }
  /// Throws, since there is no earlier version.
  public static func migrate(_ saved: JSONValue, from version: Int) throws -> JSONValue {
    throw MutationError.noMigration(name: name, from: version, to: Self.version)
  }
  /// ``Lane/main``.
  public var lane: Lane { .main }
  /// Adds no drafts.
  public func draft(_ drafts: inout Drafts) {}
  /// Accepts every answer.
  public func check(_ answer: Answer) throws {}
  /// Does nothing.
  public func settle(_ answer: Answer, _ settlement: inout Settlement) {}
  /// ``ConflictPolicy/rebase``.
  public static var onConflict: ConflictPolicy { .rebase }
}

/// A sequence of writes: each is sent only when every earlier one is finished. Lanes are
/// independent of each other.
///
/// ```swift
/// var lane: Lane { "comments" }
/// ```
public struct Lane: Hashable, Sendable, Codable, RawRepresentable, ExpressibleByStringLiteral {
  /// The name of the lane. It is saved with each entry.
  public let rawValue: String

  /// Creates a lane with a name.
  public init(rawValue: String) { self.rawValue = rawValue }

  public init(stringLiteral value: String) { rawValue = value }

  /// The lane of mutations that name no other.
  public static let main: Lane = "main"
}

/// The treatment of a 412, or of a 409 to a request with `If-Match`: the value has changed on the
/// server.
///
/// ```swift
/// static var onConflict: ConflictPolicy { .ask }
/// ```
@nonexhaustive public enum ConflictPolicy: String, Sendable, Hashable, Codable {
  /// Fetches the resources whose entity tags or values the request was made from, past the cache,
  /// and makes the request again under a new idempotency key. After five conflicts, the mutation is
  /// refused.
  case rebase
  /// Refuses the mutation, and invalidates the resources of its drafts.
  case refuse
  /// Blocks the lane until the program calls ``Outbox/retry(_:)`` or ``Outbox/discard(_:)``.
  case ask
}

/// An error of a mutation that cannot be saved, read or sent.
///
/// ```swift
/// do {
///   let post = try await submission.answer()
/// } catch .network(let error as MutationError) where error == .expired {
///   askToSubmitAgain()
/// }
/// ```
@nonexhaustive public enum MutationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A saved mutation of an earlier or later version cannot be migrated to the current one.
  case noMigration(name: String, from: Int, to: Int)
  /// The outbox does not know the name; see ``OutboxConfiguration/mutations``.
  case unknownName(String)
  /// The mutation cannot be encoded or decoded as JSON, for this reason.
  case notCodable(name: String, reason: String)
  /// The entry that should supply an id for this one is finished without an id.
  case missingIdentity(String)
  /// The mutation was not sent within ``OutboxConfiguration/maximumAge``.
  case expired
  /// The mutation conflicted with newer values as often as the outbox tries.
  case tooManyConflicts(Int)
  /// The server gives no strong entity tag for the resource, so `If-Match` cannot guard a change.
  case noEntityTag(of: String)
  /// The request of a mutation awaits a later one of this lane, which is not sent before it.
  case awaitsItsLane(String)
  /// The request of a mutation awaits a write of this lane, which cannot start: all
  /// ``OutboxConfiguration/concurrentLanes`` sending lanes await such writes.
  case awaitsTurn(String)
  /// Another process finished the entry, and its response is unknown here.
  case endedElsewhere

  /// A sentence with the failure and, if known, a remedy.
  public var description: String {
    switch self {
    case .noMigration(let name, let from, let to):
      "the mutation \(name) was saved in version \(from), which migrate(_:from:) does not convert to version \(to); add the step"
    case .unknownName(let name):
      "no mutation is named \(name); add its type to OutboxConfiguration.mutations"
    case .notCodable(let name, let reason): "the mutation \(name) cannot be encoded or decoded: \(reason)"
    case .missingIdentity(let id):
      "the write that should have returned the server's id for \(id) ended without one; discard this write, and submit both again"
    case .expired: "the write was never sent, and is older than OutboxConfiguration.maximumAge; submit it again"
    case .tooManyConflicts(let count):
      "the write conflicted with newer values \(count) times; compare both values, then retry or discard it"
    case .noEntityTag(let resource):
      "the server has sent no strong ETag for \(resource), so nothing tells whether others have changed it, and the write was not sent; let the server send one, or catch the error and write without If-Match"
    case .awaitsItsLane(let lane):
      "the request of a write awaits a later write of the lane \(lane), which waits for it; await it elsewhere, or give it another lane"
    case .awaitsTurn(let lane):
      "the requests of all lanes that send await writes of others, so the lane \(lane) gets no turn; await it elsewhere, or raise OutboxConfiguration.concurrentLanes"
    case .endedElsewhere: "another process has ended the write; fetch the resource to see the result"
    }
  }
}
