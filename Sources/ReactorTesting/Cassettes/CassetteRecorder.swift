public import Foundation
public import HTTPTypes
public import ReactorCore
import Synchronization

/// A transport that lets another one answer, and records each exchange in a ``Cassette``'s file.
///
/// ```swift
/// let recorder = CassetteRecorder(URLSessionTransport(), to: file)
/// let layer = ModelLayer(baseURL: api, transport: recorder)
/// ```
///
/// The file is written anew after each exchange, so that a crash leaves what was recorded. What is cancelled is not recorded; a
/// failure of the transport is, in words. Wrap the innermost transport: what it follows by itself, such as redirects, is one exchange.
public final class CassetteRecorder: Transport {
  private struct State {
    var nextID = 0
    var exchanges: [Int: Cassette.Exchange] = [:]
  }

  private let transport: any Transport
  private let file: URL
  private let secrets: CassetteSecrets
  private let state = Mutex(State())
  /// How many exchanges the file has. Held while it is written, so that no older one replaces a newer.
  private let written = Mutex(0)

  /// - Parameter file: replaced, if there is one, with the first exchange.
  public init(_ transport: any Transport, to file: URL, secrets: CassetteSecrets = CassetteSecrets()) {
    self.transport = transport
    self.file = file
    self.secrets = secrets
  }

  /// The exchanges that are over, in the order in which they were begun.
  public var cassette: Cassette {
    state.withLock { Cassette(exchanges: $0.exchanges.sorted { $0.key < $1.key }.map(\.value)) }
  }

  /// Writes the file, even where nothing was recorded.
  ///
  /// - Throws: the file system's errors.
  public func save() throws {
    try written.withLock { written in
      let cassette = cassette
      try cassette.write(to: file)
      written = cassette.exchanges.count
    }
  }

  /// - Throws: what the transport throws; after an exchange that could not be recorded, the file system's errors.
  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let recorded = Cassette.Request(request, body: body)
    let (response, data): (HTTPResponse, Data)
    do {
      (response, data) = try await transport.send(request, body: body, progress: progress)
    } catch {
      if error is CancellationError || Task.isCancelled { throw error }
      let failure = error as? ReactorError ?? .network(error)
      try keep(Cassette.Exchange(request: recorded, outcome: .failure(failure.reason)), id)
      throw error
    }
    let answer = Cassette.Response(status: response.status.code, fields: response.headerFields, body: data)
    try keep(Cassette.Exchange(request: recorded, outcome: .response(answer)), id)
    return (response, data)
  }

  private func keep(_ exchange: Cassette.Exchange, _ id: Int) throws {
    let exchange = secrets.redacted(exchange)
    let count = state.withLock { state in
      state.exchanges[id] = exchange
      return state.exchanges.count
    }
    try written.withLock { written in
      // Another task has written this one too.
      guard written < count else { return }
      let cassette = cassette
      try cassette.write(to: file)
      written = cassette.exchanges.count
    }
  }
}
