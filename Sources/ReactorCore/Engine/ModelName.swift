/// The name of a model's type in the records of local models: the same in every process.
///
/// Swift writes the address of the scope into the name of a private or local type, and the address
/// differs between processes. The name leaves such scopes out. Of two private types that have one
/// name in one module, either reads the other's local records, if the bytes fit.
struct ModelName: Sendable {
  let text: String

  init(_ type: any Any.Type) { text = Self.withoutScopes(String(reflecting: type)) }

  /// Compares without scopes on both sides, since earlier versions stored them.
  func matches(_ stored: String) -> Bool { stored == text || Self.withoutScopes(stored) == text }

  private static func withoutScopes(_ name: String) -> String {
    guard name.contains("(unknown context at $") else { return name }
    var parts = name.split(separator: ".", omittingEmptySubsequences: false)
    parts.removeAll { $0.hasPrefix("(unknown context at $") && $0.hasSuffix(")") }
    return parts.joined(separator: ".")
  }
}
