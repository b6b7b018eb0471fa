import ReactorTesting
import Synchronization

/// One process of a simulated world, which crashes apart from the others.
package final class SimulatedProcess: Sendable {
  private let end = Gate()

  /// Creates a process that runs.
  package init() {}

  /// A Boolean value that indicates whether the process has crashed.
  package var hasCrashed: Bool { end.isOpen }

  /// Crashes the process. All its calls of a disk, in flight and later, throw
  /// `FaultyPersistence.Crashed`.
  package func crash() { end.open() }

  /// Waits until the process has crashed.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  package func waitForCrash() async throws { try await end.wait() }
}
