extension RetryMiddleware {
  init(_ configuration: ReactorConfiguration, _ reachability: any Reachability) {
    self.init(
      configuration.retry, clock: configuration.clock, now: configuration.now,
      reachability: configuration.checksReachability ? reachability : AlwaysReachable())
  }
}

extension ReactorEvent.Kind {
  init(_ pause: RetryMiddleware.Pause) {
    switch pause {
    case .backingOff(let attempt, let delay, let reason): self = .retry(attempt: attempt, after: delay, reason: reason)
    case .offline: self = .paused
    }
  }
}
