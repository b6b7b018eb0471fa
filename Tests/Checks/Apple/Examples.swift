// The Swift code of OnAppleSystems.md in ReactorCore.docc, which a test compares with it. It is
// compiled as a program's: without the settings of this package.

import BackgroundTasks
import Combine
import Foundation
import ReactorCore
import ReactorOperators
import ReactorOutbox
import ReactorSQLite
import os

func registerSending(of layer: ModelLayer) {
  BGTaskScheduler.shared.register(forTaskWithIdentifier: "com.example.news.send", using: nil) { task in
    let drain = Task { _ = await layer.outbox.drain(within: .seconds(120)) }
    task.expirationHandler = { drain.cancel() }
    // BGTask is not Sendable. From here on, only one task uses it.
    nonisolated(unsafe) let task = task
    Task {
      await drain.value
      task.setTaskCompleted(success: !drain.isCancelled)
    }
  }
}

func scheduleSending() throws {
  let request = BGProcessingTaskRequest(identifier: "com.example.news.send")
  request.requiresNetworkConnectivity = true
  try BGTaskScheduler.shared.submit(request)
}

@MainActor final class SharedStores {
  let layer: ModelLayer
  let records: SQLitePersistence
  let writes: SQLiteOutboxStorage
  private var leaving: Task<Void, Never>?

  init(layer: ModelLayer, records: SQLitePersistence, writes: SQLiteOutboxStorage) {
    (self.layer, self.records, self.writes) = (layer, records, writes)
  }

  func enteredBackground() {
    let time = SystemBackgroundTime().begin("stores") { [records, writes] in
      records.suspend()
      writes.suspend()
    }
    leaving = Task {
      await layer.outbox.drain(within: .seconds(10))
      // Unless the user has returned meanwhile.
      if !Task.isCancelled {
        layer.outbox.pause()
        records.suspend()
        writes.suspend()
      }
      time.end()
    }
  }

  func entersForeground() {
    leaving?.cancel()
    records.resume()
    writes.resume()
    layer.outbox.resume()
    Task { try? await layer.outbox.reload() }
  }
}

func log(_ layer: ModelLayer) {
  let logger = Logger(subsystem: "com.example.news", category: "layer")
  layer.observeEvents(for: layer) { _, event in
    let (kind, key) = (event.kind.description, event.key.description)
    switch event.kind {
    case .failed, .loadFailed, .saveFailed, .outageBegan:
      logger.error("\(kind, privacy: .public) \(key, privacy: .private(mask: .hash))")
    default:
      logger.debug("\(kind, privacy: .public) \(key, privacy: .private(mask: .hash))")
    }
  }
}

@MainActor
func publisher<Model: Sendable>(
  of reactor: Reactor<Model>, for resource: Resource
) -> AnyPublisher<LoadState<Model>, Never> {
  let states = reactor.states(for: resource)
  let subject = CurrentValueSubject<LoadState<Model>, Never>(states.current)
  let reading = Task { for await state in states { subject.send(state) } }
  return subject.handleEvents(receiveCancel: { reading.cancel() }).eraseToAnyPublisher()
}
