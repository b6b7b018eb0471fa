import Foundation

/// The machine of a run.
struct Machine: Codable, Sendable {
  var processor: String
  var processors: Int
  var system: String
  var swift: String
  var date: String

  static func this() -> Machine {
    Machine(
      processor: processorName, processors: ProcessInfo.processInfo.processorCount, system: system,
      swift: output("swift", "--version")?.firstMatch(of: /Swift version [0-9.]+/).map { String($0.output) }
        ?? "Swift, of an unknown version",
      date: Date.now.formatted(.iso8601))
  }

  var line: String { "\(processor), \(processors) processors, \(system), \(swift), \(date)" }

  private static var processorName: String {
    #if os(Linux)
      let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
      let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
      return line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
    #else
      return output("sysctl", "-n", "machdep.cpu.brand_string") ?? "unknown processor"
    #endif
  }

  private static var system: String {
    output("uname", "-srm") ?? ProcessInfo.processInfo.operatingSystemVersionString
  }

  private static func output(_ command: String...) -> String? {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return process.terminationStatus == 0 && !text.isEmpty ? text : nil
  }
}
