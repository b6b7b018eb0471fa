import ReactorCore

// Operations.
extension PageChain {
  /// Asks for an operation; joins it if it is under way or queued.
  mutating func request(_ wanted: Operation, _ waiter: (UInt64, Waiter)? = nil) -> [Action] {
    let operation = window.isEmpty && (wanted == .next || wanted == .previous) ? .load : wanted
    func join(_ work: inout Work) {
      if let (id, waiter) = waiter { work.waiters.append((id, waiter)) } else { work.isAutomatic = true }
    }
    if running?.operation == operation, var work = running {
      join(&work)
      running = work
    } else if let index = queue.firstIndex(where: { $0.operation == operation }) {
      join(&queue[index])
    } else {
      var work = Work(operation: operation)
      join(&work)
      queue.append(work)
    }
    return startNext()
  }

  private mutating func startNext() -> [Action] {
    guard running == nil, !queue.isEmpty else { return [] }
    let work = queue.removeFirst()
    running = work
    let isTurning = work.operation == .next || work.operation == .previous
    return [.start(work.operation, work.task)] + publish(hasNewValue: isTurning)
  }

  /// Begins the operation that is under way again.
  mutating func restart() -> [Action] {
    guard let old = running else { return [] }
    let new = Work(operation: old.operation, isAutomatic: old.isAutomatic, waiters: old.waiters)
    running = new
    return [.cancel(old.task), .start(new.operation, new.task)]
  }

  /// Ends the wait of a cancelled caller, and cancels an operation without callers. A refresh
  /// continues while the states are read.
  mutating func leave(_ id: UInt64) -> [Action] {
    var actions: [Action] = []
    let isRead = !streams.isEmpty
    func take(_ work: inout Work) {
      guard let index = work.waiters.firstIndex(where: { $0.id == id }) else { return }
      actions.append(.resume(work.waiters.remove(at: index).waiter, .failure(.cancelled)))
      if work.operation == .refresh, isRead { work.isAutomatic = true }
    }
    if var work = running {
      take(&work)
      running = work
    }
    for index in queue.indices { take(&queue[index]) }
    queue.removeAll { $0.waiters.isEmpty && !$0.isAutomatic }
    return actions + cancelUnwanted()
  }

  mutating func cancelUnwanted() -> [Action] {
    guard let work = running, work.waiters.isEmpty, !work.isAutomatic else { return [] }
    running = nil
    let isTurning = work.operation == .next || work.operation == .previous
    return [.cancel(work.task)] + publish(hasNewValue: isTurning) + startNext()
  }

  /// Takes the outcome of an operation. The outcome of a cancelled operation changes nothing.
  mutating func finish(_ task: TaskHandle, _ result: Result<Change, ReactorError>) -> [Action] {
    guard let work = running, work.task === task else { return [] }
    running = nil
    let (outcome, changes) = apply(result, of: work.operation)
    let actions = work.waiters.map { Action.resume($0.waiter, outcome) } + changes + followUp()
    return actions + publish(hasNewValue: hasNewValue(result, of: work.operation)) + startNext()
  }

  /// A refresh that only confirms the shown pages brings no new value.
  private func hasNewValue(_ result: Result<Change, ReactorError>, of operation: Operation) -> Bool {
    if operation == .next || operation == .previous { return true }
    return if case .success = result { !isConfirmed } else { false }
  }

  private mutating func apply(
    _ result: Result<Change, ReactorError>, of operation: Operation
  ) -> (Result<Bool, ReactorError>, [Action]) {
    isConfirmed = false
    switch (result, operation) {
    case (.success(.next(let slot)), _):
      window.append(slot)
      nextError = nil
      return (.success(true), drop(window.dropFirst(beyond: limit)) + follow([0, window.count - 1]))
    case (.success(.previous(let slot)), _):
      window.prepend(slot)
      previousError = nil
      // The last remaining page links to the dropped ones.
      return (.success(true), drop(window.dropLast(beyond: limit)) + follow([0, 1]))
    case (.success(.window(let new, let startsAnew, let failure, let nextFailure)), _):
      let actions = replace(with: new, startsAnew: startsAnew)
      (error, isRemoved) = (failure, false)
      if let nextFailure { nextError = nextFailure }
      return (failure.map { .failure($0) } ?? .success(true), actions)
    case (.success(.end), .previous):
      previousError = nil
      return (.success(false), [])
    case (.success(.end), _):
      nextError = nil
      return (.success(false), [])
    case (.failure(let failure), .next): nextError = failure
    case (.failure(let failure), .previous): previousError = failure
    case (.failure(let failure), _): error = failure
    }
    return (result.map { _ in true }, [])
  }

  /// Replaces the pages that are held. Pages that stay keep their streams.
  private mutating func replace(with new: Window, startsAnew: Bool) -> [Action] {
    var new = new
    isConfirmed = new.count == window.count && zip(new.slots, window.slots).allSatisfy { $0.instance === $1.instance }
    // The error of the earlier link says nothing about a new one.
    if !new.leadsToSame(as: window) { nextError = nil }
    for index in window.indices {
      if let place = new.index(of: window[index].key) { new[place].stream = window[index].stream.take() }
    }
    var ended: [Action] = []
    if let head = head.take() {
      if let place = firstKey.flatMap(new.index) { new[place].stream = head } else { ended = end(head) }
    }
    let actions = ended + drop(window.replace(with: new, startsAnew: startsAnew)) + follow(window.indices)
    for index in window.indices {
      guard let latest = window[index].stream?.latest else { continue }
      _ = adopt(latest, at: index)
      // The list may have received another response since the operation took its own.
      news.insert(window[index].key)
    }
    return actions
  }
}
