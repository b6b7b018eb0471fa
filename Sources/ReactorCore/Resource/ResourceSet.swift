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
struct KeySet: Sendable {
  private var keys: Set<RecordKey> = []
  /// The URLs of the paths of ``ResourceSet/under(_:)``.
  private var paths: [String] = []
  private(set) var groups: Set<String> = []
  private var isAll = false

  /// Creates the set of what `sets` name. A resource or a path that cannot be requested names
  /// nothing, since nothing of it is stored.
  init(_ sets: [ResourceSet], key: (Resource) throws(ReactorError) -> RecordKey) {
    for set in sets {
      switch set {
      case .resource(let resource): if let key = try? key(resource) { keys.insert(key) }
      case .under(let path): if let key = try? key(Resource(path)) { paths.append(key.url) }
      case .group(let name): groups.insert(name)
      case .all: isAll = true
      }
    }
  }

  /// Creates the set of the groups that a response has made stale.
  init(groups: Set<String>) { self.groups = groups }

  var isEmpty: Bool { keys.isEmpty && paths.isEmpty && groups.isEmpty && !isAll }
  /// The keys that the set names, known or not.
  var named: Set<RecordKey> { keys }
  /// A Boolean value that indicates whether the set can have keys that it does not name.
  var isOpen: Bool { !paths.isEmpty || !groups.isEmpty || isAll }

  /// Returns `true` if `key` is in the set by its URL.
  func contains(_ key: RecordKey) -> Bool {
    isAll || keys.contains(key) || paths.contains { Self.isUnder($0, key.url) }
  }

  /// Returns `true` if a member of `groups` is in the set.
  func contains(groups: Set<String>) -> Bool { !groups.isEmpty && !self.groups.isDisjoint(with: groups) }

  private static func isUnder(_ path: String, _ url: String) -> Bool {
    guard url.hasPrefix(path) else { return false }
    return path.hasSuffix("/") || url.utf8.count == path.utf8.count
      || "/?".contains(url.dropFirst(path.count).prefix(1))
  }
}
