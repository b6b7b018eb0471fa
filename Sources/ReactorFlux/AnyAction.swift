/// An action whose payload's type is not known where it passes: to middlewares and logs.
public struct AnyAction: Sendable {
  let base: any ErasedAction

  public init<Payload>(_ action: Action<Payload>) { base = action }

  /// The event's name.
  public var name: String { base.name }
  /// `nil` where the action carries an error.
  public var payload: (any Sendable)? { base.anyPayload }
  /// `nil` where the action carries a payload.
  public var error: (any Error)? { base.error }
  public var payloadType: any Any.Type { base.payloadType }

  /// The action with its type, where it is one of `event`; else `nil`.
  public func action<Payload>(of event: Event<Payload>) -> Action<Payload>? {
    guard base.name == event.name else { return nil }
    return base as? Action<Payload>
  }
}

/// What ``AnyAction`` needs of ``Action``.
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
