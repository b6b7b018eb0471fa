/// The encoded form of an action: `{"event": "userLoaded", "payload": {…}}`, or with `error` in
/// place of `payload`.
enum LoggedAction {
  enum Key: String, CodingKey {
    case event, payload, error
  }

  static func encode(_ action: AnyAction, to container: inout KeyedEncodingContainer<Key>) throws {
    try container.encode(action.name, forKey: .event)
    if let error = action.error {
      try container.encode(LoggedError(error), forKey: .error)
    } else {
      try action.base.encodePayload(to: &container)
    }
  }

  static func decode(_ container: KeyedDecodingContainer<Key>, _ catalog: EventCatalog) throws -> AnyAction {
    let name = try container.decode(String.self, forKey: .event)
    let decode = catalog.decoding[name] ?? decoding(Event<Unknown>(name))
    return try decode(container)
  }

  static func decoding<Payload>(_ event: Event<Payload>) -> PayloadDecoding {
    { container in
      if let error = try container.decodeIfPresent(LoggedError.self, forKey: .error) {
        return AnyAction(Action(event, error: error))
      }
      return AnyAction(Action(event, try payload(container)))
    }
  }

  private static func payload<Payload>(_ container: KeyedDecodingContainer<Key>) throws -> Payload {
    let payload: Any =
      switch Payload.self {
      case is Void.Type: ()
      case is Unknown.Type: Unknown()
      case let type as any Decodable.Type: try container.decode(type, forKey: .payload)
      default:
        throw FluxError.notCodable(
          event: try container.decode(String.self, forKey: .event), payload: typeName(Payload.self))
      }
    guard let payload = payload as? Payload else {
      throw DecodingError.typeMismatch(
        Payload.self,
        .init(
          codingPath: container.codingPath,
          debugDescription: "the payload has another type than the event was declared with"))
    }
    return payload
  }

  /// The payload of an event that no registered store handles, so that its type is unknown.
  struct Unknown: Sendable {}
}

/// The encoded form of an error. An action that is decoded from a log carries it.
public struct LoggedError: Error, Codable, Hashable, CustomStringConvertible {
  /// The name of the type of the error that was dispatched, with its module.
  public let type: String
  /// The description of the error that was dispatched.
  public let description: String

  init(_ error: any Error) {
    self = error as? LoggedError ?? LoggedError(type: typeName(Swift.type(of: error)), description: "\(error)")
  }

  private init(type: String, description: String) {
    self.type = type
    self.description = description
  }
}

extension Action {
  /// Checks that the payload can be encoded.
  ///
  /// - Throws: ``FluxError/notCodable(event:payload:)``.
  func checkEncodable() throws {
    guard error == nil, Payload.self != Void.self, !(Payload.self is any Encodable.Type) else { return }
    throw FluxError.notCodable(event: event.name, payload: typeName(Payload.self))
  }

  func encodePayload(to container: inout KeyedEncodingContainer<LoggedAction.Key>) throws {
    guard let payload, let type = Payload.self as? any Encodable.Type else { return }
    try Self.encode(payload, as: type, to: &container)
  }

  /// Encodes by the static type, not by the value: a payload that is `nil` is encodable too.
  private static func encode<Value: Encodable>(
    _ payload: Payload, as type: Value.Type, to container: inout KeyedEncodingContainer<LoggedAction.Key>
  ) throws {
    guard let value = payload as? Value else { return }
    try container.encode(value, forKey: .payload)
  }
}
