/// Whether programs are asked to save power.
public protocol PowerSaving: Sendable {
  /// What is known now. Must return at once.
  var isOn: Bool { get }

  /// A new stream at each access: first the current value, then each change.
  var updates: AsyncStream<Bool> { get }
}
