/// The fields of stores whose values may be shown in a log of differences.
///
/// ```swift
/// inspector.show(dispatcher, values: .shown { store, field in field == "page" })
/// ```
///
/// Without a value, a log still has the name of the field, and whether it was set, cleared or
/// changed. The values of fields that are named like a secret are never shown: a name that contains
/// `password`, `passphrase`, `passcode`, `secret`, `token`, `credential`, `authorization`, `cookie`
/// or `key`, or a field within one. Nor is the query of a URL.
public struct StateVisibility: Sendable {
  private let isShown: (@Sendable (_ store: String, _ field: String) -> Bool)?

  /// No values.
  public static let hidden = StateVisibility(isShown: nil)
  /// The values of all fields that are not named like a secret. For debug builds.
  public static let all = StateVisibility { _, _ in true }

  /// The values of the fields for which `isShown` holds.
  ///
  /// - Parameter isShown: A closure that gets the type name of the store, such as `Session`, and
  ///   the path of the field without indices and keys, such as `users.name`.
  public static func shown(_ isShown: @escaping @Sendable (_ store: String, _ field: String) -> Bool) -> Self {
    StateVisibility(isShown: isShown)
  }

  private init(isShown: (@Sendable (String, String) -> Bool)?) { self.isShown = isShown }

  private static let secrets = [
    "password", "passphrase", "passcode", "secret", "token", "credential", "authorization", "cookie", "key",
  ]

  var isHidden: Bool { isShown == nil }

  func shows(_ field: String, of store: String) -> Bool {
    guard let isShown else { return false }
    let name = field.lowercased()
    return !Self.secrets.contains { name.contains($0) } && isShown(store, field)
  }
}
