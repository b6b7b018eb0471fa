import Foundation
import ReactorTesting
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(1))) final class `Low power under sys` {
  let root = FileManager.default.temporaryDirectory.appendingPathComponent("LowPower-\(UUID())")
  let clock = TestClock()
  var files: LowPowerModeFiles { LowPowerModeFiles(root: root.path, clock: clock, interval: .seconds(30)) }

  static let profile = "firmware/acpi/platform_profile"

  deinit { try? FileManager.default.removeItem(at: root) }

  func write(_ text: String, to path: String) throws {
    let file = root.appendingPathComponent(path)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  func addBattery(_ name: String, _ charge: String, _ status: String, type: String = "Battery") throws {
    for (file, text) in ["capacity": charge, "status": status, "type": type] {
      try write("\(text)\n", to: "class/power_supply/\(name)/\(file)")
    }
  }

  @Test func `is off where there is nothing`() { #expect(!files.isOn) }

  @Test(arguments: [
    ("low-power\n", true), ("low-power", true), ("balanced\n", false), ("performance\n", false), ("", false),
    ("\n", false), ("low-power-not", false), (String(repeating: "x", count: 100_000), false), ("\u{0}", false),
  ])
  func `follows the platform profile`(text: String, isOn: Bool) throws {
    try write(text, to: Self.profile)
    #expect(files.isOn == isOn)
  }

  @Test(arguments: [
    ("19", "Discharging", "Battery", true), ("0", "Discharging", "Battery", true),
    ("20", "Discharging", "Battery", false), ("19", "Charging", "Battery", false), ("19", "Full", "Battery", false),
    ("19", "Discharging", "UPS", false), ("-1", "Discharging", "Battery", false),
    ("101", "Discharging", "Battery", false), ("low", "Discharging", "Battery", false),
    ("", "Discharging", "Battery", false), ("99999999999999999999", "Discharging", "Battery", false),
  ])
  func `follows a battery`(charge: String, status: String, type: String, isOn: Bool) throws {
    try addBattery("BAT0", charge, status, type: type)
    #expect(files.isOn == isOn)
  }

  @Test func `is off while another battery is full`() throws {
    try addBattery("BAT0", "5", "Discharging")
    #expect(files.isOn)
    try addBattery("BAT1", "90", "Not charging")
    #expect(!files.isOn)
  }

  @Test func `passes over a mouse's battery`() throws {
    try addBattery("hid-mouse", "5", "Discharging")
    try write("Device\n", to: "class/power_supply/hid-mouse/scope")
    #expect(!files.isOn)
  }

  @Test func `is off where a directory stands for a file`() throws {
    try write("", to: "\(Self.profile)/low-power")
    #expect(!files.isOn)
  }

  @Test func `gives the current value first, then each change, looking every interval`() async throws {
    try write("low-power\n", to: Self.profile)
    let (seen, continuation) = AsyncStream.makeStream(of: Bool.self)
    let task = Task { [files] in for await isOn in files.updates { continuation.yield(isOn) } }
    var iterator = seen.makeAsyncIterator()
    #expect(await iterator.next() == true)
    try await clock.waitForSleepers()
    #expect(clock.nextDeadline == TestClock.Instant(elapsed: .seconds(30)))
    clock.advance(by: .seconds(30))
    try await clock.waitForSleepers()
    try write("balanced\n", to: Self.profile)
    clock.advance(by: .seconds(30))
    // Unchanged, the first look gave nothing.
    #expect(await iterator.next() == false)
    try await clock.waitForSleepers()
    task.cancel()
    await task.value
    try clock.checkNobodySleeps()
  }

  @Test func `this machine has an answer`() async {
    var updates = LowPowerMode.updates.makeAsyncIterator()
    #expect(await updates.next() == LowPowerMode.isOn)
  }
}
