import Foundation
import HTTPTypes
import Synchronization

/// A server of documents, and the book of all that it has said: what may legally be seen.
///
/// A document is `{"owner", "path", "language", "version", "order", "sum"}`; the order counts the
/// requests, including local writes. The sum is over the rest, so that a mixed document is seen.
/// Documents of some paths vary by language.
final class ReferenceServer: Sendable {
  struct Document: Codable, Hashable, Sendable {
    var owner: String
    var path: String
    /// Empty where it does not vary, and of what was written.
    var language: String
    var version: Int
    var order: Int
    var sum: Int

    init(owner: String, path: String, language: String = "", version: Int, order: Int) {
      self.owner = owner
      self.path = path
      self.language = language
      self.version = version
      self.order = order
      sum = Self.sum(owner + path + language, version, order)
    }

    var isWhole: Bool { sum == Self.sum(owner + path + language, version, order) }

    private static func sum(_ text: String, _ version: Int, _ order: Int) -> Int {
      text.utf8.reduce(version &* 31 &+ order &* 17) { $0 &* 33 &+ Int($1) }
    }
  }

  /// That a document was given out, written, or confirmed by a 304.
  struct Word: Sendable {
    var document: Document
    /// Of the request that it answered, or of the write.
    var order: Int
    var saidAt: Duration
  }

  struct WallTimes: Sendable {
    var sent: Date
    var arrived: Date
  }

  private struct State {
    var versions: [String: Int] = [:]
    var order = 0
    var words: [String: [Word]] = [:]
    /// The time at which each request was sent.
    var sent: [Int: Duration] = [:]
    /// The time at which the answer to each request arrived.
    var arrivals: [Int: Duration] = [:]
    /// The same by the wall clock, of what was written as well.
    var wallTimes: [Int: WallTimes] = [:]
    var isNoStore = false
  }

  private let state = Mutex(State())
  private let now: @Sendable () -> (elapsed: Duration, wall: Date)
  /// Seconds that an answer is fresh.
  let maximumAge: Int
  /// The paths whose documents vary by language.
  let varying: Set<String>
  /// The paths that are asked for by POST.
  let searched: Set<String>

  init(
    maximumAge: Int, varying: Set<String>, searched: Set<String>,
    now: @escaping @Sendable () -> (elapsed: Duration, wall: Date)
  ) {
    self.maximumAge = maximumAge
    self.varying = varying
    self.searched = searched
    self.now = now
  }

  /// The prefix of each token. Nothing else in this world has it.
  static let secret = "token-of-"

  /// A number for what begins now: a request or a local write.
  func nextOrder() -> Int {
    state.withLock { state in
      state.order += 1
      return state.order
    }
  }

  func sent(_ order: Int) {
    state.withLock { state in
      let now = now()
      state.sent[order] = now.elapsed
      state.wallTimes[order] = WallTimes(sent: now.wall, arrived: now.wall)
    }
  }

  func wallTimes(_ order: Int) -> WallTimes? { state.withLock { $0.wallTimes[order] } }

  /// Returns true if two requests were sent at the same time: then neither is the later.
  func areSentTogether(_ one: Int, _ other: Int) -> Bool {
    state.withLock { state in
      guard let time = state.sent[one] else { return false }
      return state.sent[other] == time
    }
  }

  func arrived(_ order: Int) {
    state.withLock { state in
      let now = now()
      state.arrivals[order] = now.elapsed
      state.wallTimes[order]?.arrived = now.wall
    }
  }

  /// Returns the time at which the answer to a request arrived; `nil` for a local write and for an
  /// answer that never came.
  func arrival(_ order: Int) -> Duration? { state.withLock { $0.arrivals[order] } }

  /// The requests whose answers have come since `time`.
  func arrivals(since time: Duration) -> [Int] { state.withLock { $0.arrivals.filter { $0.value >= time }.map(\.key) } }

  /// From now on answers may be stored or not.
  func setNoStore(_ isNoStore: Bool) { state.withLock { $0.isNoStore = isNoStore } }

  func version(_ path: String) -> Int { state.withLock { $0.versions[path, default: 1] } }

  /// The document of `path` changes for everybody.
  func change(_ path: String) { state.withLock { $0.versions[path, default: 1] += 1 } }

  /// A document that `owner` writes locally.
  func written(_ owner: String, _ path: String, order: Int) -> Document {
    let document = Document(owner: owner, path: path, version: 0, order: order)
    state.withLock { state in
      let now = now()
      state.words[owner + path, default: []].append(Word(document: document, order: order, saidAt: now.elapsed))
      state.wallTimes[order] = WallTimes(sent: now.wall, arrived: now.wall)
    }
    return document
  }

  func words(_ owner: String, _ path: String) -> [Word] { state.withLock { $0.words[owner + path] ?? [] } }

  /// - Parameter order: of the request, from when it was sent.
  func answer(_ request: HTTPRequest, order: Int) -> (HTTPResponse, Data) {
    guard let path = request.path, let token = request.headerFields[.authorization], token.hasPrefix(Self.secret) else {
      return (HTTPResponse(status: .unauthorized), Data())
    }
    let owner = String(token.dropFirst(Self.secret.count))
    return state.withLock { state in
      let version = state.versions[path, default: 1]
      let language = varying.contains(path) ? request.headerFields[.acceptLanguage] ?? "" : ""
      let tag = "\"\(version)\(language)\""
      // A server that is careless with what it was told.
      var fields: HTTPFields = [
        .cacheControl: state.isNoStore ? "no-store" : "max-age=\(maximumAge)", .eTag: tag,
        .contentType: "application/json", .setCookie: "session=\(token)",
      ]
      if let link = HTTPField.Name("Link") { fields[link] = "<\(path)?access_token=\(token)>; rel=next" }
      if varying.contains(path) { fields[.vary] = "Accept-Language" }
      if request.method == .put {
        state.versions[path] = version + 1
        let document = Document(owner: owner, path: path, language: language, version: version + 1, order: order)
        return (HTTPResponse(status: .ok, headerFields: fields), Self.bytes(document))
      }
      if request.headerFields[.ifNoneMatch] == tag {
        // It means that only for GET and HEAD (RFC 9110 §13.1.2).
        guard request.method == .get else { return (HTTPResponse(status: .preconditionFailed), Data()) }
        // Whichever document of this version is stored, it is confirmed.
        for document in Set((state.words[owner + path] ?? []).map(\.document))
        where document.version == version && document.language == language {
          state.words[owner + path, default: []].append(Word(document: document, order: order, saidAt: now().elapsed))
        }
        return (HTTPResponse(status: .notModified, headerFields: fields), Data())
      }
      let document = Document(owner: owner, path: path, language: language, version: version, order: order)
      state.words[owner + path, default: []].append(Word(document: document, order: order, saidAt: now().elapsed))
      let body = Self.bytes(document)
      return (HTTPResponse(status: .ok, headerFields: fields), body)
    }
  }

  /// The same in each process, where it is cut too.
  private static func bytes(_ document: Document) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return (try? encoder.encode(document)) ?? Data()
  }
}
