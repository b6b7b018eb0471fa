import ReactorCore
import Testing

@testable import ReactorInspector

@Suite("The waterfall of a key")
struct WaterfallTests {
  private typealias Name = TimelineEvent.Name

  private static func event(
    _ at: Double, _ name: TimelineEvent.Name, flag: Bool = false, status: Int = 0, count: Int = 0,
    duration: Double = 0, model: String = "Note", reason: String? = nil
  ) -> TimelineEvent {
    TimelineEvent(
      at: at, name: name, flag: flag, status: status, count: count, duration: duration, model: model, reason: reason)
  }

  /// `network 10–30 ok "200, 5 bytes"`, a line a bar; a run begins with `# start`.
  private static func lines(_ runs: [Waterfall.Run]) -> [String] {
    runs.flatMap { run in
      ["# \(Int(run.start)) \(run.duration.map { "\(Int($0))" } ?? "under way")"]
        + run.bars.map { bar in
          "\(bar.lane.rawValue) \(Int(bar.start))-\(bar.end.map { "\(Int($0))" } ?? "") \(bar.outcome.rawValue)"
            + (bar.label.isEmpty ? "" : " \(bar.label)")
        }
    }
  }

  static let table: [(name: String, events: [TimelineEvent], expected: [String])] = [
    ("nothing", [], []),
    ("hits alone", [event(100, .memoryHit), event(200, .joined), event(300, .evicted)], []),
    (
      "a first fetch",
      [
        event(100, .memoryMiss), event(110, .persistenceMiss), event(110, .request),
        event(150, .response, status: 200, count: 5, duration: 40), event(152, .parsed, count: 5, duration: 2),
        event(160, .saved, count: 5),
      ],
      [
        "# 100 60", "memory 0-0 miss miss", "persistence 0-10 miss miss", "network 10-50 ok 200, 5 bytes",
        "parsing 50-52 ok 5 bytes", "save 52-60 ok 5 bytes",
      ]
    ),
    (
      "a stream that comes back much later, and finds a stale record",
      [
        event(100, .request), event(150, .response, status: 200, count: 5, duration: 50), event(160, .saved, count: 5),
        event(60_010, .parsed, count: 5, duration: 3), event(60_020, .persistenceHit),
        event(60_020, .request, flag: true),
        event(60_050, .response, status: 304, duration: 30), event(60_050, .notModified),
      ],
      [
        "# 100 60", "network 0-50 ok 200, 5 bytes", "save 50-60 ok 5 bytes", "# 60007 43", "parsing 0-3 ok 5 bytes",
        "persistence 13-13 stale stale", "network 13-43 notModified 304",
      ]
    ),
    (
      "a record on disk that is stale, and confirmed",
      [
        event(100, .memoryMiss), event(108, .parsed, count: 5, duration: 3), event(110, .persistenceHit),
        event(110, .request, flag: true), event(130, .response, status: 304, duration: 20), event(130, .notModified),
        event(135, .saved, count: 5),
      ],
      [
        "# 100 35", "memory 0-0 miss miss", "persistence 0-10 stale stale", "parsing 5-8 ok 5 bytes",
        "network 10-30 notModified 304", "save 30-35 ok 5 bytes",
      ]
    ),
    (
      "retries, and an end",
      [
        event(0, .request), event(20, .response, status: 503, duration: 20),
        event(20, .retry, count: 2, duration: 100, reason: "status 503"), event(120, .request),
        event(130, .retry, count: 3, duration: 50, reason: "timed out"), event(180, .request),
        event(200, .failed, reason: "timed out"),
      ],
      [
        "# 0 200", "network 0-20 failed 503, 0 bytes", "network 20-120 waiting attempt 2 in 100 ms",
        "network 120-130 failed timed out", "network 130-180 waiting attempt 3 in 50 ms",
        "network 180-200 failed timed out",
      ]
    ),
    (
      "under way",
      [event(100, .memoryMiss), event(110, .persistenceMiss), event(110, .request, flag: false)],
      ["# 100 under way", "memory 0-0 miss miss", "persistence 0-10 miss miss", "network 10- running"]
    ),
    (
      "offline, and online again",
      [
        event(0, .persistenceMiss), event(1, .paused), event(5_000, .request),
        event(5_020, .response, status: 200, count: 1, duration: 20),
      ],
      [
        "# 0 5020", "persistence 0-0 miss miss", "network 1-5000 paused offline", "network 5000-5020 ok 200, 1 bytes",
      ]
    ),
    (
      "nobody waits any more", [event(0, .request), event(30, .cancelled)],
      ["# 0 30", "network 0-30 cancelled cancelled"]
    ),
    (
      "two fetches, later", [event(0, .request), event(9, .failed), event(5_000, .request), event(5_009, .failed)],
      ["# 0 9", "network 0-9 failed", "# 5000 9", "network 0-9 failed"]
    ),
    (
      "one that asks again at once", [event(0, .request), event(9, .failed), event(10, .request)],
      ["# 0 9", "network 0-9 failed", "# 10 under way", "network 0- running"]
    ),
    (
      "a beginning that was forgotten",
      [event(100, .response, status: 200, count: 1, duration: 30), event(101, .saveFailed, reason: "full")],
      ["# 70 31", "network 0-30 ok 200, 1 bytes", "save 30-31 failed full"]
    ),
    (
      "a local save", [event(100, .savedLocally), event(103, .saved, count: 9)],
      ["# 103 0", "save 0-0 ok 9 bytes"]
    ),
    (
      "two models of one key",
      [event(0, .request, model: "A"), event(5, .request, model: "B"), event(9, .failed, model: "A")],
      ["# 0 9", "network 0-9 failed", "# 5 under way", "network 0- running"]
    ),
    (
      "a clock that was set back", [event(100, .request), event(50, .failed)], ["# 100 0", "network 0-0 failed"]
    ),
  ]

  @Test(arguments: table.indices) func `the waterfall of a key is made of its events`(_ index: Int) {
    let (name, events, expected) = Self.table[index]
    #expect(Self.lines(Waterfall.runs(of: events)) == expected, "\(name)")
  }

  @Test func `the waterfall of a key gives the latest runs`() {
    let events = (0..<20).flatMap { index in
      [Self.event(Double(index) * 5_000, .request), Self.event(Double(index) * 5_000 + 9, .failed)]
    }
    #expect(Waterfall.runs(of: events, limit: 3).map { Int($0.start) } == [85_000, 90_000, 95_000])
  }

  @Test(arguments: Name.allCases) func `ends with any event, in any order`(_ name: TimelineEvent.Name) {
    for other in Name.allCases {
      let events = [other, name, other, name].enumerated().map { Self.event(Double($0), $1, duration: 3) }
      for run in Waterfall.runs(of: events) {
        #expect(run.bars.allSatisfy { $0.start >= 0 && ($0.end ?? .infinity) >= $0.start })
      }
    }
  }
}
