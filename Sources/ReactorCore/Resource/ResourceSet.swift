/// Resources that are meant together, to declare them stale with
/// ``ModelLayer/invalidate(_:)``.
///
/// ```swift
/// await layer.invalidate(.group("stories"), .under("authors/7"))
/// ```
public enum ResourceSet: Sendable, Hashable {
  /// One resource.
  case resource(Resource)
  /// The resource of a path and every resource below it, with any query: `under("posts")` means
  /// `posts`, `posts?page=2` and `posts/7`, but not `postscripts`. The path is relative to the base
  /// URL, as in ``Resource/path``.
  case under(String)
  /// The resources of a group: ``Resource/groups``, or a group that the server has named in
  /// `Cache-Groups` (RFC 9875).
  case group(String)
  /// Every resource of the layer.
  case all
}

/// Resource sets in terms of keys and groups, which memory and persistence know.
package struct KeySet: Sendable {
  private var keys: Set<RecordKey> = []
  /// The URLs whose keys all are in the set, whatever their method and body.
  package private(set) var urls: Set<String> = []
  /// The URLs of the paths of ``ResourceSet/under(_:)``.
  package private(set) var paths: Set<String> = []
  package private(set) var groups: Set<String> = []
  package private(set) var isAll = false

  /// Creates the set of what `sets` name. A resource or a path that cannot be requested names
  /// nothing, since nothing of it is stored.
  init(_ sets: [ResourceSet], key: (Resource) throws(ReactorError) -> RecordKey) {
    for set in sets {
      switch set {
      case .resource(let resource): if let key = try? key(resource) { keys.insert(key) }
      case .under(let path): if let key = try? key(Resource(path)) { formUnion(KeySet(paths: [key.url])) }
      case .group(let name): groups.insert(name)
      case .all: isAll = true
      }
    }
  }

  /// Creates the set of the members of groups.
  package init(groups: Set<String>) { self.groups = groups }

  /// Creates the set of all keys of absolute URLs.
  package init(urls: Set<String>) { self.urls = urls }

  /// Creates the set of all keys at or below the paths of absolute URLs.
  package init(paths: [String]) {
    // `posts/` is `posts` and what is below it, too.
    self.paths = Set(paths.map { String($0.hasSuffix("/") ? $0.dropLast() : $0[...]) })
  }

  package static var everything: KeySet {
    var set = KeySet(urls: [])
    set.isAll = true
    return set
  }

  package var isEmpty: Bool { keys.isEmpty && urls.isEmpty && paths.isEmpty && groups.isEmpty && !isAll }

  package mutating func formUnion(_ other: KeySet) {
    keys.formUnion(other.keys)
    urls.formUnion(other.urls)
    paths.formUnion(other.paths)
    groups.formUnion(other.groups)
    if other.isAll { isAll = true }
  }

  /// Removes a URL that the set names.
  mutating func remove(url: String) { urls.remove(url) }

  /// Replaces each key by its URL.
  mutating func widenToURLs() {
    urls.formUnion(keys.map(\.url))
    keys = []
  }
  /// The keys that the set names, known or not.
  var named: Set<RecordKey> { keys }
  /// A Boolean value that indicates whether the set has only keys of ``urls``.
  var hasURLsAlone: Bool { keys.isEmpty && paths.isEmpty && groups.isEmpty && !isAll }
  /// A Boolean value that indicates whether the set can have keys that it does not name.
  var isOpen: Bool { !urls.isEmpty || !paths.isEmpty || !groups.isEmpty || isAll }

  /// Returns `true` if `key` is in the set by its URL.
  package func contains(_ key: RecordKey) -> Bool {
    isAll || urls.contains(key.url) || keys.contains(key) || paths.contains { Self.isUnder($0, key.url) }
  }

  /// Returns `true` if a member of `groups` is in the set.
  func contains(groups: Set<String>) -> Bool { !groups.isEmpty && !self.groups.isDisjoint(with: groups) }

  static func isUnder(_ path: String, _ url: String) -> Bool {
    guard url.hasPrefix(path) else { return false }
    return url.utf8.count == path.utf8.count || "/?".contains(url.dropFirst(path.count).prefix(1))
  }
}
