import Synchronization

/// Low power as Linux shows it in files, below `root` (sysfs-platform_profile, sysfs-class-power).
struct LowPowerModeFiles: Sendable {
  /// The charge in per cent below which a battery asks to save power.
  static let lowCharge = 20

  var root = "/sys"
  var clock: any Clock<Duration> = ContinuousClock()
  var interval: Duration = .seconds(30)

  /// What is missing or makes no sense asks for nothing.
  var isOn: Bool {
    if text("firmware/acpi/platform_profile") == "low-power" { return true }
    let batteries = batteries()
    return batteries.contains(where: \.isDischarging) && batteries.allSatisfy { $0.charge < Self.lowCharge }
  }

  var updates: AsyncStream<Bool> {
    let isFirst = Mutex(true)
    return AsyncStream {
      let isFirst = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      if !isFirst {
        do { try await clock.sleep(for: interval) } catch { return nil }
      }
      return isOn
    }.withoutRepeats()
  }

  private struct Battery {
    let charge: Int
    let isDischarging: Bool
  }

  private func batteries() -> [Battery] {
    let directory = "class/power_supply"
    let names = (try? FileSystem().list("\(root)/\(directory)")) ?? []
    return names.compactMap { battery("\(directory)/\($0)") }
  }

  /// `nil` for what is no battery, says no charge, or belongs to a mouse or another device and not to the machine.
  private func battery(_ path: String) -> Battery? {
    guard text("\(path)/type") == "Battery", text("\(path)/scope") != "Device",
      let charge = text("\(path)/capacity").flatMap({ Int($0) }), (0...100).contains(charge)
    else { return nil }
    return Battery(charge: charge, isDischarging: text("\(path)/status") == "Discharging")
  }

  /// The file's line, of which the first 64 bytes count; `nil` where it cannot be read.
  private func text(_ path: String) -> String? {
    guard let bytes = try? FileSystem().open("\(root)/\(path)")?.read(64) else { return nil }
    return String(validating: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
}
