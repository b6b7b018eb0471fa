import ReactorCore

// Operations.
extension PageChain {
  /// Asks for an operation; joins it if it is under way or queued.
  mutating func request(_ wanted: Operation, _ waiter: (UInt64, Waiter)? = nil) -> [Action] {
    let operation = slots.isEmpty && wanted != .refresh ? .load : wanted
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

  /// Ends the wait of a caller that was cancelled. An operation that nobody wants is cancelled.
  mutating func leave(_ id: UInt64) -> [Action] {
    var actions: [Action] = []
    func take(_ work: inout Work) {
      guard let index = work.waiters.firstIndex(where: { $0.id == id }) else { return }
      actions.append(.resume(work.waiters.remove(at: index).waiter, .failure(.cancelled)))
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

  /// Takes the outcome of an operation. That of one that has been cancelled changes nothing.
  mutating func finish(_ task: TaskHandle, _ result: Result<Change, ReactorError>) -> [Action] {
    guard let work = running, work.task === task else { return [] }
    running = nil
    let outcome = apply(result, of: work.operation)
    var actions = work.waiters.map { Action.resume($0.waiter, outcome) }
    for index in slots.indices {
      if let latest = followed[slots[index].resource]?.latest { _ = adopt(latest, at: index) }
    }
    actions += follow()
    if error == nil { actions += followUp() }
    return actions + publish(hasNewValue: hasNewValue(result, of: work.operation)) + startNext()
  }

  /// A refresh that only confirms what is shown is no new value.
  private func hasNewValue(_ result: Result<Change, ReactorError>, of operation: Operation) -> Bool {
    if operation == .next || operation == .previous { return true }
    return if case .success = result { !isConfirmed } else { false }
  }

  private mutating func apply(
    _ result: Result<Change, ReactorError>, of operation: Operation
  ) -> Result<Bool, ReactorError> {
    isConfirmed = false
    switch (result, operation) {
    case (.success(.next(let slot)), _):
      append(slot)
      nextError = nil
    case (.success(.previous(let slot)), _):
      prepend(slot)
      previousError = nil
    case (.success(.window(let new, let startsAnew, let failure)), _):
      isConfirmed = slots.count == new.count && zip(slots, new).allSatisfy { $0.instance === $1.instance }
      slots = new
      if startsAnew { earlier = [] }
      if let index = earlier.firstIndex(where: { link in new.contains { $0.key == link.key } }) {
        earlier.removeSubrange(index...)
      }
      (error, isRemoved) = (failure, false)
      if let failure { return .failure(failure) }
    case (.success(.end), .previous):
      previousError = nil
      return .success(false)
    case (.success(.end), _):
      nextError = nil
      return .success(false)
    case (.failure(let failure), .next): nextError = failure
    case (.failure(let failure), .previous): previousError = failure
    case (.failure(let failure), _): error = failure
    }
    return result.map { _ in true }
  }
}
