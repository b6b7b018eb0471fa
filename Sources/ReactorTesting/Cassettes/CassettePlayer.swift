public import Foundation
public import HTTPTypes
public import ReactorCore
import Synchronization

/// A transport that answers from a ``Cassette``, and never uses the network.
///
/// ```swift
/// let player = try CassettePlayer(contentsOf: file)
/// let layer = ModelLayer(baseURL: api, transport: player)
/// ```
///
/// Each exchange is played once. A request matches an exchange if the method, the URL and the body
/// are equal, apart from secrets. JSON bodies are compared by value. A request without a match
/// fails with a ``CassetteError`` that shows the difference.
public final class CassettePlayer: Transport {
  /// The rule that selects the exchange for a request.
  public enum Matching: Sendable, Hashable {
    /// The next exchange, which the request must match.
    case inOrder
    /// The first unplayed exchange that the request matches.
    case byRequest
  }

  private struct Entry {
    let outcome: Cassette.Outcome
    let request: CassetteRequestLines
    var isPlayed = false
  }

  private let matching: Matching
  private let fields: Set<HTTPField.Name>
  private let secrets: CassetteSecrets
  private let entries: Mutex<[Entry]>

  /// Creates a player of a cassette.
  ///
  /// - Parameters:
  ///   - cassette: The exchanges to play.
  ///   - matching: The rule that selects an exchange for a request.
  ///   - fields: Header fields that must match too.
  ///   - secrets: The secrets of the recorder. They are redacted before requests are compared.
  public init(
    _ cassette: Cassette, matching: Matching = .byRequest, fields: Set<HTTPField.Name> = [],
    secrets: CassetteSecrets = CassetteSecrets()
  ) {
    self.matching = matching
    self.fields = fields
    self.secrets = secrets
    entries = Mutex(
      cassette.exchanges.map {
        Entry(outcome: $0.outcome, request: CassetteRequestLines(secrets.redacted($0.request), fields))
      })
  }

  /// Creates a player of a cassette's file.
  ///
  /// - Throws: ``CassetteError``, if the file is missing, unreadable, malformed, or of another
  ///   version.
  public convenience init(
    contentsOf file: URL, matching: Matching = .byRequest, fields: Set<HTTPField.Name> = [],
    secrets: CassetteSecrets = CassetteSecrets()
  ) throws(CassetteError) {
    self.init(try Cassette(contentsOf: file), matching: matching, fields: fields, secrets: secrets)
  }

  /// The methods and URLs of the requests that were not played. Empty at the end of a test that
  /// made them all.
  ///
  /// ```swift
  /// #expect(player.unplayed.isEmpty)
  /// ```
  public var unplayed: [String] { entries.withLock { $0.filter { !$0.isPlayed }.map(\.request.name) } }

  /// Returns the recorded response.
  ///
  /// - Throws: ``CassetteError``, if no exchange matches;
  ///   `TransportError.connectionFailed(_:request:)` for a recorded failure;
  ///   `CancellationError`, if the task is already cancelled.
  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try Task.checkCancellation()
    var asked = Cassette.Exchange(request: Cassette.Request(request, body: body), outcome: .failure(""))
    asked = secrets.redacted(asked)
    let size = Int64(body?.count ?? 0)
    progress(TransferProgress(stage: .waiting, sent: size, toSend: size))
    switch try play(CassetteRequestLines(asked.request, fields)) {
    case .failure(let reason): throw TransportError.connectionFailed(reason)
    case .response(let response):
      let count = Int64(response.body.count)
      progress(TransferProgress(sent: size, toSend: size, received: count, expected: count))
      let status = HTTPResponse.Status(code: min(max(response.status, 100), 599))
      return (HTTPResponse(status: status, headerFields: response.fields), response.body)
    }
  }

  private func play(_ request: CassetteRequestLines) throws(CassetteError) -> Cassette.Outcome {
    let candidates = entries.withLock { entries -> Result<Cassette.Outcome, Mismatch> in
      let index =
        switch matching {
        case .inOrder: entries.firstIndex { !$0.isPlayed }.flatMap { entries[$0].request == request ? $0 : nil }
        case .byRequest: entries.firstIndex { !$0.isPlayed && $0.request == request }
        }
      guard let index else { return .failure(Mismatch(entries: entries)) }
      entries[index].isPlayed = true
      return .success(entries[index].outcome)
    }
    switch candidates {
    case .success(let outcome): return outcome
    case .failure(let mismatch): throw error(for: request, mismatch.entries)
    }
  }

  private struct Mismatch: Error { let entries: [Entry] }

  private func error(for request: CassetteRequestLines, _ entries: [Entry]) -> CassetteError {
    let rest = entries.enumerated().filter { !$0.element.isPlayed }
    let isKnown = matching == .byRequest && entries.contains { $0.request == request }
    let nearest =
      switch matching {
      case .inOrder: rest.first
      case .byRequest: rest.min { request.distance(to: $0.element.request) < request.distance(to: $1.element.request) }
      }
    guard !isKnown, let nearest else {
      return .exhausted(
        request: request.name, played: entries.count { $0.isPlayed && (!isKnown || $0.request == request) })
    }
    return .unmatched(
      request: request.name, exchange: nearest.offset + 1, difference: request.difference(from: nearest.element.request)
    )
  }
}
