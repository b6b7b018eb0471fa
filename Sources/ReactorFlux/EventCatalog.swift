/// What a decoder must know to read a log: which event carries which type.
///
/// ```swift
/// let decoder = JSONDecoder()
/// decoder.userInfo[EventCatalog.key] = dispatcher.events
/// try dispatcher.replay(decoder.decode(ActionLog.self, from: data))
/// ```
public struct EventCatalog: Sendable {
  /// Where ``ActionLog/init(from:)`` looks for the catalog, in the decoder's `userInfo`.
  // The initializer returns nil for no value.
  public static let key = CodingUserInfoKey(rawValue: "ReactorFlux.EventCatalog")!

  let decoding: [String: PayloadDecoding]
}

extension Dispatcher {
  /// The events that the registered stores handle.
  public var events: EventCatalog { tables.catalog }
}

/// Reads the action of one event out of its place in a log.
typealias PayloadDecoding = @Sendable (KeyedDecodingContainer<LoggedAction.Key>) throws -> AnyAction
