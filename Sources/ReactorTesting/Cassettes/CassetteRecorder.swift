public import Foundation
public import HTTPTypes
public import ReactorCore
import Synchronization

/// A transport that records the exchanges of another transport in a ``Cassette``'s file.
///
/// ```swift
/// let recorder = CassetteRecorder(URLSessionTransport(), to: file)
/// let layer = ModelLayer(baseURL: api, transport: recorder)
/// ```
///
/// The recorder rewrites the file after each exchange, so a crash loses nothing that was recorded.
/// A failure of the transport is recorded as text. A cancelled exchange is not recorded. Wrap the
/// innermost transport: its own steps, such as following redirects, are then one exchange.
public final class CassetteRecorder: Transport {
  private struct State {
    var nextID = 0
    var exchanges: [Int: Cassette.Exchange] = [:]
  }

  private let transport: any Transport
  private let file: URL
  private let secrets: CassetteSecrets
  private let state = Mutex(State())
  /// The number of exchanges in the file. Its lock is held during a write, so an older state never
  /// replaces a newer one.
  private let written = Mutex(0)

  /// Creates a recorder.
  ///
  /// - Parameters:
  ///   - transport: The transport that answers the requests.
  ///   - file: The cassette's file. The first exchange replaces an existing file.
  ///   - secrets: The secrets to redact.
  public init(_ transport: any Transport, to file: URL, secrets: CassetteSecrets = CassetteSecrets()) {
    self.transport = transport
    self.file = file
    self.secrets = secrets
  }

  /// The finished exchanges, in the order in which they began.
  public var cassette: Cassette {
    state.withLock { Cassette(exchanges: $0.exchanges.sorted { $0.key < $1.key }.map(\.value)) }
  }

  /// Writes the file, even if nothing was recorded.
  ///
  /// - Throws: The errors of the file system.
  public func save() throws {
    try written.withLock { written in
      let cassette = cassette
      try cassette.write(to: file)
      written = cassette.exchanges.count
    }
  }

  /// Sends the request through the wrapped transport, and records the exchange.
  ///
  /// - Throws: The errors of the transport. If the exchange cannot be recorded, the errors of the
  ///   file system.
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
      // Another task has already written this exchange.
      guard written < count else { return }
      let cassette = cassette
      try cassette.write(to: file)
      written = cassette.exchanges.count
    }
  }
}
