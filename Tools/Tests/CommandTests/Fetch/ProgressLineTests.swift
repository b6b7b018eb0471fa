import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import Testing

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `The progress of a fetch` {
  /// Records the terminal's output.
  final class Terminal: Sendable {
    private let written = Mutex<[String]>([])
    var lines: [String] { written.withLock { $0.map { $0.replacing("\r\u{1B}[K", with: "|") } } }
    func write(_ text: String) { written.withLock { $0.append(text) } }
  }

  @Test func `is shown after a second, follows the transfer, and is gone at the end`() async throws {
    let (clock, gate, shown, terminal) = (TestClock(), Gate(), Gate(), Terminal())
    let line = ProgressLine(clock: clock) { text in
      terminal.write(text)
      shown.open()
    }
    let task = Task {
      await line.during {
        line.show(TransferProgress(stage: .waiting))
        try? await gate.wait()
        line.show(TransferProgress(stage: .receiving, received: 1_500_000, expected: 3_000_000))
      }
    }
    try await clock.waitForSleepers()
    try await gate.waitForArrival()
    #expect(terminal.lines == [])
    clock.advance(by: .seconds(1))
    try await shown.wait()
    gate.open()
    await task.value
    #expect(terminal.lines == ["|5 %, waiting for the answer", "|60 %, receiving 1.5 MB of 3.0 MB", "|"])
    try clock.checkNobodySleeps()
  }

  @Test func `of less than a second writes nothing`() async throws {
    let (clock, terminal) = (TestClock(), Terminal())
    let line = ProgressLine(clock: clock) { terminal.write($0) }
    await line.during { line.show(TransferProgress(received: 10, expected: 10)) }
    #expect(terminal.lines == [])
    try clock.checkNobodySleeps()
  }

  @Test(
    arguments: [
      (TransferProgress(), "0 %, connecting"), (TransferProgress(stage: .waiting), "5 %, waiting for the answer"),
      (TransferProgress(sent: 50_000, toSend: 100_000), "25 %, sending 50 kB of 100 kB"),
      (TransferProgress(received: 65_536), "60 %, receiving 65 kB"),
      (TransferProgress(received: 9_990_000, expected: 9_990_000), "100 %, receiving 9.9 MB of 9.9 MB"),
    ] as [(TransferProgress, String)])
  func `the progress of a fetch is one line of plain words`(progress: TransferProgress, text: String) {
    #expect(ProgressLine.text(progress) == text)
  }

  @Test func `the progress of a fetch is told by the transport to the line and to its caller`() async throws {
    let (clock, terminal, told) = (TestClock(), Terminal(), Terminal())
    let line = ProgressLine(clock: clock) { terminal.write($0) }
    let scripted = ScriptedTransport { _, _ in .json("{}") }
    let transport = WatchedTransport(transport: scripted, line: line)
    let request = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/")
    _ = try await transport.send(request, body: nil) { told.write("\($0.stage)") }
    #expect(told.lines.last == "receiving")
  }
}
