import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Synchronization

/// The changes that users make.
extension ReferenceModel {
  /// Begins a local write.
  ///
  /// - Returns: its number, for its end.
  func beginWriting(_ place: Place) -> Int {
    state.withLock { state in
      for other in Place.all(place.owner) where other.path == place.path && other.kind != place.kind {
        state.overwritten[other, default: 0] += 1
        state.mayRestart.insert(Key(other))
      }
      for other in otherTypes(place) { state.writing[other, default: 0] += 1 }
    }
    return begin(place.owner, [place.path])
  }

  /// A local write has ended, well or not.
  func endWriting(_ place: Place) {
    state.withLock { state in
      for other in otherTypes(place) { state.writing[other, default: 0] -= 1 }
    }
    end(place.owner, [place.path])
  }

  private func otherTypes(_ place: Place) -> [Key] {
    Key.all(place.owner, [place.path]).filter { $0.kind != place.kind }
  }

  /// Begins an invalidation.
  ///
  /// - Returns: its number, for its end.
  func beginInvalidating(_ place: Place) -> Int {
    mayRemoveVariants(place)
    return begin(place.owner, [place.path])
  }

  /// An invalidation has ended, well or not. The invalidation by an unsafe request marks what it
  /// finds on disk once the server has accepted the request, so what was stored meanwhile is marked
  /// too.
  func endInvalidating(_ place: Place) {
    mayRemoveVariants(place)
    end(place.owner, [place.path])
  }

  /// A variant that an invalidation cannot mark is removed.
  private func mayRemoveVariants(_ place: Place) {
    guard server.varying.contains(place.path), faults.loadFailure > 0 || faults.saveFailure > 0 else { return }
    state.withLock { state in
      for other in Place.all(place.owner) where other.path == place.path { state.overwritten[other, default: 0] += 1 }
    }
  }

  /// Begins a write, a removal or an invalidation.
  ///
  /// - Returns: its number, for its end.
  func begin(_ owner: String, _ paths: [String], removes: Bool = false) -> Int {
    state.withLock { state in
      for key in Key.all(owner, paths) {
        state.fences[key, default: 0] += 1
        state.open[key, default: 0] += 1
        if removes {
          state.removals[key, default: 0] += 1
          state.removing[key, default: 0] += 1
        }
      }
    }
    return server.nextOrder()
  }

  /// It has ended, well or not.
  func end(_ owner: String, _ paths: [String], removes: Bool = false) {
    state.withLock { state in
      for key in Key.all(owner, paths) {
        state.open[key, default: 0] -= 1
        if removes { state.removing[key, default: 0] -= 1 }
      }
    }
  }

  /// A removal was acknowledged.
  func removed(_ owner: String, _ paths: [String], _ order: Int) {
    state.withLock { state in
      for key in Key.all(owner, paths) { state.settled[key] = max(state.settled[key] ?? 0, order) }
    }
  }

  /// A write was acknowledged.
  ///
  /// - Parameter isOnDisk: whether the other types find it there in place of what they had.
  func written(_ place: Place, _ order: Int, isOnDisk: Bool) {
    state.withLock { state in
      for key in Key.all(place.owner, [place.path]) {
        if key == Key(place) {
          // Only in memory, another variant may take its place, while the disk has the earlier one.
          guard isOnDisk || !server.varying.contains(place.path) else { continue }
          state.settled[key] = max(state.settled[key] ?? 0, order)
        } else if isOnDisk {
          state.invalidated[key] = max(state.invalidated[key] ?? 0, order)
        }
      }
    }
  }

  /// Ends the process: from here on its disk fails.
  func crashDisk() {
    state.withLock { $0.diskHasCrashed = true }
    world.disk.crash()
  }

  var diskHasCrashed: Bool { state.withLock(\.diskHasCrashed) }

  func promised(_ place: Place, _ order: Int, _ before: Before) {
    state.withLock { state in
      guard order >= state.promises[place]?.order ?? 0 else { return }
      let overwritten = state.overwrittenWhenSent[order].map { min(before.overwritten, $0[place] ?? 0) }
      state.promises[place] = Promise(
        order: order, removals: before.removals, overwritten: overwritten ?? before.overwritten)
    }
  }

  func promise(_ place: Place) -> Promise { state.withLock { $0.promises[place] ?? Promise() } }

  /// An invalidation was acknowledged.
  func invalidated(_ owner: String, _ path: String, _ order: Int) {
    state.withLock { state in
      for key in Key.all(owner, [path]) { state.invalidated[key] = max(state.invalidated[key] ?? 0, order) }
    }
  }
}
