import HTTPTypes
public import ReactorCore

/// The error that `body` throws; `nil` where it throws none.
public func error<Value>(_ body: () async throws -> Value) async -> ReactorError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? ReactorError ?? .network(error)
  }
}

extension ReactorError {
  public var status: Int? {
    if case .server(let response, _) = self { response.status.code } else { nil }
  }
  public var isCancelled: Bool { if case .cancelled = self { true } else { false } }
  public var isNotCached: Bool { if case .notCached = self { true } else { false } }
  public var isNoConnectivity: Bool { if case .noConnectivity = self { true } else { false } }
  public var isInvalidResource: Bool { if case .invalidResource = self { true } else { false } }
}

/// An error that a test has made.
public struct Broken: Error {
  public init() {}
}
