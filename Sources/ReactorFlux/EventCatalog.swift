/// What a decoder must know to read a log: which event carries which type.
struct EventCatalog: Sendable {
  let decoding: [String: PayloadDecoding]

  static func of(_ decoder: any Decoder) -> EventCatalog? {
    CodingUserInfoKey(rawValue: key).flatMap { decoder.userInfo[$0] as? EventCatalog }
  }

  fileprivate static let key = "ReactorFlux.EventCatalog"
}

extension Dispatcher {
  /// What a decoder's `userInfo` needs to read an ``ActionLog``: the events that the registered stores handle, and their types.
  ///
  /// ```swift
  /// let decoder = JSONDecoder()
  /// decoder.userInfo = dispatcher.decodingInfo
  /// try dispatcher.replay(decoder.decode(ActionLog.self, from: data))
  /// ```
  public var decodingInfo: [CodingUserInfoKey: any Sendable] {
    CodingUserInfoKey(rawValue: EventCatalog.key).map { [$0: tables.catalog] } ?? [:]
  }
}

/// Reads the action of one event out of its place in a log.
typealias PayloadDecoding = @Sendable (KeyedDecodingContainer<LoggedAction.Key>) throws -> AnyAction
