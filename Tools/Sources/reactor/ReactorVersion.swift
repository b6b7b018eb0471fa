/// The version of the command, which equals the package's.
enum ReactorVersion {
  /// The latest version in CHANGELOG.md, or the next one with `-dev` while changes are unreleased.
  ///
  /// `make release` writes it, and `make lint` compares it with CHANGELOG.md.
  static let text = "0.2.0-dev"
}
