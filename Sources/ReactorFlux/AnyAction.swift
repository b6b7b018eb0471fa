/// An action without its payload's static type, for middlewares and logs.
public struct AnyAction: Sendable {
  let base: any ErasedAction

  /// Creates an action without its payload's static type.
  public init<Payload>(_ action: Action<Payload>) { base = action }

  /// The name of the event.
  public var name: String { base.name }
  /// The payload; `nil` if the action carries an error.
  public var payload: (any Sendable)? { base.anyPayload }
  /// The error; `nil` if the action carries a payload.
  public var error: (any Error)? { base.error }
  /// The type of the event's payload, even if the action carries an error.
  public var payloadType: any Any.Type { base.payloadType }

  /// Returns the action with its static type, if its event's name and payload type are those of
  /// `event`; otherwise `nil`.
  ///
  /// ```swift
  /// dispatcher.use { action, next in
  ///   if let login = action.action(of: loggedIn) { greet(login.payload) }
  ///   next(action)
  /// }
  /// ```
  public func action<Payload>(of event: Event<Payload>) -> Action<Payload>? {
    guard base.name == event.name else { return nil }
    return base as? Action<Payload>
  }
}

/// The part of ``Action`` that ``AnyAction`` uses.
protocol ErasedAction: Sendable {
  var name: String { get }
  var anyPayload: (any Sendable)? { get }
  var error: (any Error)? { get }
  var payloadType: any Any.Type { get }
  @MainActor func handle(in dispatcher: Dispatcher)
  func checkEncodable() throws
  func encodePayload(to container: inout KeyedEncodingContainer<LoggedAction.Key>) throws
}

extension Action: ErasedAction {
  var name: String { event.name }
  var anyPayload: (any Sendable)? { payload }
  var payloadType: any Any.Type { Payload.self }
  @MainActor func handle(in dispatcher: Dispatcher) {
    if let table = dispatcher.tables.table(name, Payload.self) { return dispatcher.handle(self, table) }
    do throws(FluxError) { try dispatcher.tables.check(name, Payload.self) } catch { dispatcher.onFailure(error) }
  }
}
