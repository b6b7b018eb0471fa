import ReactorCore
import Testing

@Suite struct `Progress of an exchange` {
  @Test(
    arguments: [
      (TransferProgress(), 0), (TransferProgress(stage: .waiting), 0.05),
      (TransferProgress(stage: .sending, sent: 0, toSend: 100), 0.05),
      (TransferProgress(stage: .sending, sent: 50, toSend: 100), 0.25),
      (TransferProgress(stage: .waiting, sent: 100, toSend: 100), 0.45),
      (TransferProgress(stage: .receiving, sent: 100, toSend: 100, received: 0, expected: 10), 0.6),
      (TransferProgress(stage: .receiving, received: 0, expected: 10), 0.2),
      (TransferProgress(stage: .receiving, received: 5, expected: 10), 0.6),
      (TransferProgress(stage: .receiving, received: 65_536), 0.6),
      (TransferProgress(stage: .receiving, received: 0, expected: 0), 1),
    ] as [(TransferProgress, Double)])
  func `the fraction counts latency and both bodies`(progress: TransferProgress, fraction: Double) {
    #expect(abs(progress.fractionCompleted - fraction) < 1e-9)
  }

  @Test(arguments: [Int64.min, -1, 0, 1, .max], [Int64.min, -1, 0, 1, .max])
  func `the fraction is between 0 and 1, whatever the numbers`(a: Int64, b: Int64) {
    for stage in [TransferProgress.Stage.connecting, .sending, .waiting, .receiving] {
      for expected in [nil, a, b] {
        for (sent, toSend) in [(a, b), (b, a)] {
          let progress = TransferProgress(stage: stage, sent: sent, toSend: toSend, received: b, expected: expected)
          #expect((0...1).contains(progress.fractionCompleted), "\(progress)")
        }
      }
    }
  }

  @Test func `without a stage, the numbers say it`() {
    #expect(TransferProgress().stage == .connecting)
    #expect(TransferProgress(sent: 1, toSend: 2).stage == .sending)
    #expect(TransferProgress(expected: 1).stage == .receiving)
    #expect(TransferProgress(received: 1).stage == .receiving)
  }
}
