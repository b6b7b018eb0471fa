import HTTPTypes

/// The effect of a server's response on the stored response for its request (RFC 9111 §3, §4).
enum StorageEffect: Hashable, Sendable {
  /// The response is stored, in place of an older one.
  case store
  /// The store stays as it is: the response answers one client, or is an error that may not be
  /// stored.
  case keep
  /// The older response is removed. No cache may store the newer one.
  case remove
}

extension Record.Head {
  /// Returns what becomes of the store after the response to a request.
  ///
  /// - Parameters:
  ///   - request: The fields of the request, without validators of the cache.
  ///   - setsCookies: A Boolean value that indicates whether the response had `Set-Cookie`, which a
  ///     head does not hold. Default: `false`.
  ///   - rules: The rules of the cache. Default: the rules of a private cache.
  func effect(of request: HTTPFields, setsCookies: Bool = false, by rules: CacheRules = .private) -> StorageEffect {
    let control = rules.control(of: fields)
    guard !answersOneClient(request, setsCookies: setsCookies, control, by: rules) else { return .keep }
    let isExplicit =
      control.maxAge != nil || control.isStorable || (fields.contains(.expires) && !control.isTargeted)
    if (200...599).contains(status.code), !control.forbidsStoring(status), variant?.isMatchable ?? true,
      isExplicit || Heuristic.statuses.contains(status.code)
    {
      return .store
    }
    return isNewerState ? .remove : .keep
  }

  /// A Boolean value that indicates whether the response is the newer state of the resource: a
  /// success, or the answer that nothing is there. Any other error may pass.
  var isNewerState: Bool { status.kind == .successful || status == .notFound || status == .gone }

  /// Returns whether the response says nothing to other requests: it answers fields that no key
  /// has, its client wants nothing to be stored, or it is the response for one user.
  private func answersOneClient(
    _ request: HTTPFields, setsCookies: Bool, _ control: CacheControl, by rules: CacheRules
  ) -> Bool {
    if UnkeyedInput.isAnswered(by: status) || RequestCacheControl(request).isNoStore || control.isForOthers {
      return true
    }
    let isError = status.kind == .clientError || status.kind == .serverError
    // In a shared cache, one user's mistake must not affect others (§3.5).
    let isAuthorized = rules.isShared && request.contains(.authorization)
    if isError, isAuthorized || UnkeyedInput.isPresent(in: request) { return true }
    return (isAuthorized && !control.allowsAuthorization)
      || (rules.isShared && setsCookies && !control.allowsCookies)
  }
}

extension CacheControl {
  /// A Boolean value that indicates whether a shared cache may store a response to a request with
  /// `Authorization` (§3.5).
  fileprivate var allowsAuthorization: Bool { isPublic || sharedMaxAge != nil || isMustRevalidate }

  /// A Boolean value that indicates whether a shared cache may store a response with `Set-Cookie`,
  /// without that field.
  fileprivate var allowsCookies: Bool { isPublic || sharedMaxAge != nil || isTargeted }
}

extension StoredFields {
  /// Returns whether a response to HEAD shows that the stored response is the server's present one:
  /// both have a validator, and it is the same (RFC 9111 §4.3.5).
  static func validate(_ fields: HTTPFields, _ stored: Record.Head) -> Bool {
    let names: [HTTPField.Name] = [.eTag, .lastModified]
    return confirm(fields, stored) && names.contains { fields.contains($0) && stored.fields.contains($0) }
  }
}
