import Foundation
import ReactorTesting

/// The clock of the world that a thread runs. A mutation is decoded, so it can be given no clock,
/// and each run of a simulation has its own thread.
enum ThreadClock {
  private final class Held {
    weak var clock: TestClock?

    init(_ clock: TestClock) { self.clock = clock }
  }

  private static let name = "clock of the simulation"

  static var current: TestClock? {
    get { (Thread.current.threadDictionary[name] as? Held)?.clock }
    set { Thread.current.threadDictionary[name] = newValue.map(Held.init) }
  }
}
