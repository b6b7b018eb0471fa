/// The encoded form is `{"version": 1, "stores": […], "actions": […]}`.
extension ActionLog: Codable {
  private enum Key: String, CodingKey {
    case version, stores, actions
  }

  /// Encodes the log. Errors are encoded as ``LoggedError``: the name of their type, and their
  /// description.
  ///
  /// - Throws: ``FluxError/notCodable(event:payload:)``, before anything is encoded, and the
  ///   encoder's errors.
  public func encode(to encoder: any Encoder) throws {
    for action in actions { try action.base.checkEncodable() }
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(Self.version, forKey: .version)
    try container.encode(stores, forKey: .stores)
    var list = container.nestedUnkeyedContainer(forKey: .actions)
    for action in actions {
      var entry = list.nestedContainer(keyedBy: LoggedAction.Key.self)
      try LoggedAction.encode(action, to: &entry)
    }
  }

  /// Decodes a log. The decoder's `userInfo` must be a dispatcher's ``Dispatcher/decodingInfo``.
  ///
  /// An event that the dispatcher does not know is decoded without its payload.
  ///
  /// - Throws: ``FluxError/unsupportedLogVersion(found:supported:)``,
  ///   ``FluxError/notCodable(event:payload:)`` if a payload's type is not `Decodable`, and
  ///   `DecodingError`, with the place in the log.
  public init(from decoder: any Decoder) throws {
    guard let catalog = EventCatalog.of(decoder) else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "set the decoder's userInfo to Dispatcher.decodingInfo before you decode a log"))
    }
    let container = try decoder.container(keyedBy: Key.self)
    let version = try container.decode(Int.self, forKey: .version)
    guard version == Self.version else {
      throw FluxError.unsupportedLogVersion(found: version, supported: Self.version)
    }
    stores = try container.decode([String].self, forKey: .stores)
    var list = try container.nestedUnkeyedContainer(forKey: .actions)
    while !list.isAtEnd {
      actions.append(try LoggedAction.decode(list.nestedContainer(keyedBy: LoggedAction.Key.self), catalog))
    }
  }
}
