import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Synchronization

extension ReferenceModel {
  /// A removal has failed.
  ///
  /// - Parameter comesBack: whether what is on disk comes back, which a save that failed may not
  ///   have replaced, nor an invalidation marked.
  func notRemoved(_ owner: String, _ paths: [String], comesBack: Bool) {
    state.withLock { state in
      for key in Key.all(owner, paths) {
        state.failedRemovals[key, default: 0] += 1
        guard comesBack else { continue }
        state.settled[key] = nil
        state.invalidated[key] = nil
      }
    }
  }

  /// Holds the failure of a fetch, or of a stream, against what has gone wrong.
  func judge(
    _ error: any Error, _ place: Place, _ before: Before, mayFailOnDisk: Bool = false, _ who: String
  ) {
    let wasRemoved = before.isBeingRemoved || self.before(place).removals != before.removals
    let isExpected =
      switch error as? ReactorError {
      case .cancelled: wasRemoved || Task.isCancelled
      case .noConnectivity: faults.outage > 0
      case .network: faults.requestLoss > 0 || faults.responseLoss > 0 || faults.outage > 0
      case .server(let response, _): faults.serverError > 0 && response.status == .serviceUnavailable
      case .parser: faults.bodyCut > 0
      case .persistence: mayFailOnDisk
      // `cacheOnly` reports a missing value, and its caller judges that.
      default: false
      }
    world.check(isExpected, "\(who): \(error), and nothing has gone wrong that it could be")
  }

  /// Holds the failure of a write or a removal against what has gone wrong on disk.
  func judgeOfDisk(_ error: any Error, mayFailOnDisk: Bool, _ who: String) {
    switch error as? ReactorError {
    case .persistence: world.check(mayFailOnDisk, "\(who): \(error), and the disk is well")
    // A caller that is cancelled while it waits for its turn returns at once.
    case .cancelled where Task.isCancelled: break
    default: world.check(false, "\(who): \(error)")
    }
  }
}
