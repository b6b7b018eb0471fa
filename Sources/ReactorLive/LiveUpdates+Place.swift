import Foundation
import ReactorCore
import Synchronization

/// The place in the server's history, on disk with the marks: the next process continues there, and
/// knows what was stale.
extension LiveUpdates {
  /// Reads the place that an earlier process has left. The stream and the flights of the layer wait
  /// for it.
  func restore(_ layer: LayerContext) {
    guard let placeKey else { return }
    _ = spawnApart(on: executor) { [weak self, layer] in
      let place: Result<SavedPlace?, any Error>
      do {
        place = .success(
          try await layer.note(of: placeKey).map { try JSONDecoder().decode(SavedPlace.self, from: $0) })
      } catch { place = .failure(error) }
      self?.restored(place, layer)
    }
  }

  private func restored(_ place: Result<SavedPlace?, any Error>, _ layer: LayerContext) {
    var id = ""
    switch place {
    case .success(let place?):
      id = place.id
      // Under the lock, so that a removal of everything comes before or after.
      state.withLock { state in
        guard !state.live.isRestored else { return }
        layer.add(place.dates)
        state.saving.isRead(place.id)
      }
    case .success(nil): break
    // It is not known what was stale.
    case .failure: layer.mark(.everything)
    }
    update { state, time in state.restored(id, at: time) }
    let waiters = state.withLock { $0.saving.takeWaiters() }
    for waiter in waiters { waiter.resume() }
  }

  package var isReady: Bool { state.withLock(\.live.isRestored) }

  package func ready() async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if !state.live.isRestored { state.saving.add(continuation) }
        return state.live.isRestored
      }
      if isReady { continuation.resume() }
    }
  }

  /// Saves the place if it is time.
  func savePlace(at time: Duration) {
    // Begun also if the layer is gone: what is due would be due again at once.
    guard let placeKey, state.withLock({ $0.saving.begin(at: time) }), let layer else { return }
    _ = spawnApart(on: executor, priority: .utility) { [weak self, layer] in
      var hasFailed = false
      do { try await layer.save(placeKey) { self?.place(in: layer) } } catch { hasFailed = true }
      self?.state.withLock { $0.saving.ended(hasFailed: hasFailed) }
      self?.settle()
    }
  }

  /// The place with the marks up to it; `nil` if there is none.
  private func place(in layer: LayerContext) -> Data? {
    guard let id = state.withLock({ $0.saving.take($0.live.lastEventID) }) else { return nil }
    // After the place: a mark too many is harmless.
    do { return try JSONEncoder().encode(SavedPlace(id, layer.markDates)) } catch { return nil }
  }
}

/// The time at which the place in the server's history is saved next.
struct PlaceSaving: Sendable {
  /// `false` if the place is not saved at all.
  let isNeeded: Bool
  private var savedID = ""
  private var due: Duration?
  private var isSaving = false
  /// The changes whose marks are being made. Their place is not to be saved yet.
  private var performing = 0
  private var waiters: [CheckedContinuation<Void, Never>] = []

  /// The time between two saves.
  static let interval: Duration = .seconds(5)

  init(isNeeded: Bool) { self.isNeeded = isNeeded }

  var deadline: Duration? { isSaving || performing > 0 ? nil : due }

  /// The stream has changed, and its actions are performed next.
  mutating func changed(_ live: LiveState, performs: Bool, at time: Duration) {
    if performs { performing += 1 }
    guard isNeeded else { return }
    if due == nil, !live.lastEventID.isEmpty, live.lastEventID != savedID { due = time + Self.interval }
    // The process may end soon.
    if due != nil, !live.isOpen { due = time }
  }

  /// A change is being applied that takes its time.
  mutating func beginPerforming() { performing += 1 }

  mutating func performed() { performing -= 1 }

  /// Records the id of the place on disk.
  mutating func isRead(_ id: String) { savedID = id }

  /// Begins to save, if it is time.
  mutating func begin(at time: Duration) -> Bool {
    guard let due = deadline, due <= time else { return false }
    (self.due, isSaving) = (nil, true)
    return true
  }

  /// Returns the place to save; `nil` for none.
  mutating func take(_ id: String) -> String? {
    guard performing == 0, !id.isEmpty else { return nil }
    savedID = id
    return id
  }

  mutating func ended(hasFailed: Bool) {
    isSaving = false
    // Saved with the next change.
    if hasFailed { savedID = "" }
  }

  mutating func add(_ waiter: CheckedContinuation<Void, Never>) { waiters.append(waiter) }

  mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
    defer { waiters = [] }
    return waiters
  }
}

/// A place and the marks up to it, as they are on disk. One record, so that neither is without the
/// other.
private struct SavedPlace: Codable {
  let id: String
  let urls: [String: Double]
  let paths: [String: Double]
  let groups: [String: Double]
  let all: Double?

  init(_ id: String, _ dates: MarkDates) {
    func seconds(_ dates: [String: Date]) -> [String: Double] { dates.mapValues(\.timeIntervalSinceReferenceDate) }
    self.id = id
    (urls, paths, groups) = (seconds(dates.urls), seconds(dates.paths), seconds(dates.groups))
    all = dates.all?.timeIntervalSinceReferenceDate
  }

  var dates: MarkDates {
    func dates(_ seconds: [String: Double]) -> [String: Date] {
      seconds.mapValues(Date.init(timeIntervalSinceReferenceDate:))
    }
    return MarkDates(
      urls: dates(urls), paths: dates(paths), groups: dates(groups),
      all: all.map(Date.init(timeIntervalSinceReferenceDate:)))
  }
}
