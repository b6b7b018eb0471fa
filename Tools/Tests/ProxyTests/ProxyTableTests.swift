import Foundation
import ReactorTesting
import Synchronization
import Testing
import Wire

@testable import reactor

/// HTTP caching from outside (RFC 9111, RFC 5861): sockets on both sides, and a clock that the test
/// moves.
@Suite(.timeLimit(.minutes(5))) struct `A caching proxy, seen from outside` {
  @Test(arguments: ProxyTable.rows) func `does as the rule says`(row: ProxyRow) async throws {
    let answer = Mutex<String?>(nil)
    try await ProxyBench.run(
      // Each step is to be asked, after a failure too.
      isStaleOnDisconnect: row.isStaleOnDisconnect, outages: nil,
      script: { _ in answer.withLock { $0 }.map { RowMessage($0).response } ?? .raw("HTTP/1.1 599 Unasked\r\n\r\n") }
    ) { bench in
      for (number, step) in row.steps.enumerated() {
        answer.withLock { $0 = step.answer }
        bench.setAge(step.age)
        let before = bench.origin.requests.count
        let response = try await bench.get(request(step), body: RowMessage(step.request).body)
        let asked = bench.origin.requests.dropFirst(before)
        let place = Comment("step \(number + 1) of: \(row.rule)\n\(response.text)")
        #expect(asked.count == (step.answer == nil ? 0 : 1), place)
        check(response, RowMessage(step.gets), place)
        if let sent = asked.first { check(WireMessage(sent), fieldsOf: RowMessage("; " + step.sent), place) }
      }
    }
  }

  private func request(_ step: ProxyRow.Step) -> String {
    let message = RowMessage(step.request)
    let line = message.first.contains(" ") ? message.first : "\(message.first) /a"
    return ([line] + message.fields.map { "\($0.name): \($0.value ?? "")" }).joined(separator: "\n")
  }

  private func check(_ response: WireMessage, _ expected: RowMessage, _ place: Comment) {
    #expect("\(response.status)" == expected.first, place)
    #expect(response.body == expected.body, place)
    check(response, fieldsOf: expected, place)
  }

  private func check(_ message: WireMessage, fieldsOf expected: RowMessage, _ place: Comment) {
    for field in expected.fields where !field.name.isEmpty { #expect(message[field.name] == field.value, place) }
  }
}
