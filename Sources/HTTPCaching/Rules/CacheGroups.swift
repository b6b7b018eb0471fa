public import Foundation
package import HTTPTypes

/// Groups of responses, as RFC 9875 defines them: a server names them in `Cache-Groups`, and makes
/// all of a group stale with `Cache-Group-Invalidation` in the response to an unsafe request.
package enum CacheGroups {
  package static let members = HTTPField.Name("Cache-Groups") ?? .cacheControl
  package static let invalidation = HTTPField.Name("Cache-Group-Invalidation") ?? .cacheControl

  /// The longest list that is read (§2 asks for at least 32 groups of 32 characters).
  private static let limit = 1_024

  /// Returns the strings of a list field (RFC 9651 §3.1, §3.3.3). Parameters are ignored (§2), and
  /// a field that is not a list of strings counts as missing.
  package static func names(in fields: HTTPFields, _ name: HTTPField.Name) -> Set<String> {
    var names: Set<String> = []
    var isValid = true
    fields.forEachElement(of: name) { element in
      guard let text = string(element.bytes) else { return isValid = false }
      if names.count < limit { names.insert(text) }
    }
    return isValid ? names : []
  }

  /// Returns the groups that the response to an unsafe request makes stale (§3). A failed request
  /// makes none stale.
  package static func invalidated(by response: HTTPResponse, to method: HTTPRequest.Method) -> Set<String> {
    guard Invalidation.isCaused(by: method, response) else { return [] }
    return names(in: response.headerFields, invalidation)
  }

  /// Returns the string at the beginning of a list's member; `nil` if the member is not a string.
  private static func string(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
    guard bytes.first == UInt8(ascii: "\"") else { return nil }
    var text: [UInt8] = []
    var index = 1
    while index < bytes.count {
      var byte = bytes[index]
      if byte == UInt8(ascii: "\"") {
        let isEnd = index + 1 == bytes.count || bytes[index + 1] == UInt8(ascii: ";")
        return isEnd ? String(decoding: text, as: UTF8.self) : nil
      }
      if byte == UInt8(ascii: "\\") {
        index += 1
        guard index < bytes.count else { return nil }
        byte = bytes[index]
        guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { return nil }
      }
      guard (0x20...0x7e).contains(byte) else { return nil }
      text.append(byte)
      index += 1
    }
    return nil
  }

  /// Returns `name` as a member of a list field; `nil` if it has characters beyond ASCII.
  fileprivate static func member(_ name: String) -> String? {
    guard name.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return nil }
    return "\"\(name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
  }
}

extension Record.Head {
  /// The groups that the response belongs to (RFC 9875).
  ///
  /// They come from `Cache-Groups`: the server's groups, and the groups that the app gave the
  /// resource.
  public var groups: Set<String> { CacheGroups.names(in: fields, CacheGroups.members) }

  /// Adds the program's groups to the server's. They are stored as the server's are, in
  /// `Cache-Groups`. A name that cannot stand there is left out.
  package mutating func join(_ groups: Set<String>) {
    guard !groups.isEmpty else { return }
    let names = self.groups.union(groups).sorted().compactMap(CacheGroups.member)
    fields[CacheGroups.members] = names.joined(separator: ", ")
  }
}

extension HTTPCache {
  /// Returns the keys of the stored records of these groups.
  ///
  /// The method lists the whole scope: groups have no index.
  ///
  /// - Parameters:
  ///   - groups: The names of the groups, as in ``Record/Head/groups``.
  ///   - scope: The scope to search; `nil` searches every scope.
  ///   - origin: A URL of the origin whose groups are meant (RFC 9875 §2); `nil` for every origin.
  /// - Throws: The persistence's error.
  public func keys(ofGroups groups: Set<String>, in scope: Scope?, origin: URL? = nil) async throws -> [RecordKey] {
    let origin = origin.map { WebOrigin($0) }
    return try await keys(in: scope) { entry in
      if let origin, URL(string: entry.key.url).flatMap(WebOrigin.init) != origin { return false }
      var own = entry.groups
      if own == nil { own = try? await persistence?.load(entry.key)?.head.groups }
      return own?.isDisjoint(with: groups) == false
    }
  }

  /// Returns the keys of the stored records for which `isMeant` returns `true`, in the order of
  /// their identities.
  package func keys(
    in scope: Scope?, where isMeant: (Record.Entry) async throws -> Bool
  ) async throws -> [RecordKey] {
    var keys: Set<RecordKey> = []
    for entry in try await persistence?.entries(in: scope, url: nil) ?? [] where !entry.key.isNote {
      if try await isMeant(entry) { keys.insert(entry.key.base) }
    }
    return keys.sortedUnspecialized { $0.identity < $1.identity }
  }
}
