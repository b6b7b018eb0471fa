/// The payload types of events, which a decoder needs to read a log.
struct EventCatalog: Sendable {
  let decoding: [String: PayloadDecoding]

  static func of(_ decoder: any Decoder) -> EventCatalog? {
    CodingUserInfoKey(rawValue: key).flatMap { decoder.userInfo[$0] as? EventCatalog }
  }

  fileprivate static let key = "ReactorFlux.EventCatalog"
}

extension Dispatcher {
  /// The `userInfo` for a decoder of an ``ActionLog``: the events that the registered stores
  /// handle, and their payload types.
  ///
  /// ```swift
  /// let decoder = JSONDecoder()
  /// decoder.userInfo = dispatcher.decodingInfo
  /// try dispatcher.replay(decoder.decode(ActionLog.self, from: data))
  /// ```
  ///
  /// It reflects the stores that are registered now.
  public var decodingInfo: [CodingUserInfoKey: any Sendable] {
    CodingUserInfoKey(rawValue: EventCatalog.key).map { [$0: tables.catalog] } ?? [:]
  }
}

/// Decodes the action of one event from its place in a log.
typealias PayloadDecoding = @Sendable (KeyedDecodingContainer<LoggedAction.Key>) throws -> AnyAction
