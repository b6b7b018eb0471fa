// The few declarations of Network that the sources use.

public import Dispatch

public struct NWPath: Sendable {
  public enum Status: Sendable {
    case satisfied, unsatisfied, requiresConnection
  }

  public let status: Status
}

public final class NWPathMonitor: @unchecked Sendable {
  public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?

  public init() {}

  public func start(queue: DispatchQueue) {}
  public func cancel() {}
}
