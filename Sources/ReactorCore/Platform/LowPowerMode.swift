/// Whether the user or the battery asks programs to save power; see ``SystemPowerSaving``.
public enum LowPowerMode {
  /// What the system says now.
  public static var isOn: Bool { SystemPowerSaving().isOn }

  /// A new stream at each access: first the current value, then each change. It ends with its reader.
  public static var updates: AsyncStream<Bool> { SystemPowerSaving().updates }
}
