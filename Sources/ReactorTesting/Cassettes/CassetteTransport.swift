public import Foundation
public import HTTPTypes
public import ReactorCore

/// A transport that records a cassette once, and plays it from then on.
///
/// ```swift
/// let transport = try CassetteTransport(file, over: URLSessionTransport())
/// ```
///
/// To record again, remove the file, or use ``Mode/record``.
public struct CassetteTransport: Transport {
  /// The choice between playing and recording.
  public enum Mode: String, Sendable, Hashable, CaseIterable {
    /// Plays the file, which must exist.
    case play
    /// Records, and replaces an existing file.
    case record
    /// Plays the file if it exists, and records it otherwise. The initializer checks once whether
    /// the file exists.
    case recordIfMissing
  }

  private let transport: any Transport

  /// Creates a transport that plays or records `file`.
  ///
  /// - Parameters:
  ///   - file: The cassette's file.
  ///   - transport: The transport that answers while the cassette is recorded.
  ///   - mode: The choice between playing and recording.
  ///   - matching: The rule that selects an exchange for a request.
  ///   - fields: Header fields that must match too.
  ///   - secrets: The secrets to redact.
  /// - Throws: ``CassetteError``, if the cassette is to be played and cannot be.
  public init(
    _ file: URL, over transport: any Transport, mode: Mode = .recordIfMissing,
    matching: CassettePlayer.Matching = .byRequest, fields: Set<HTTPField.Name> = [],
    secrets: CassetteSecrets = CassetteSecrets()
  ) throws(CassetteError) {
    let isPlayed = mode == .play || (mode == .recordIfMissing && FileManager.default.fileExists(atPath: file.path))
    self.transport =
      isPlayed
      ? try CassettePlayer(contentsOf: file, matching: matching, fields: fields, secrets: secrets)
      : CassetteRecorder(transport, to: file, secrets: secrets)
  }

  /// Plays or records one exchange. The errors come from ``CassettePlayer`` or the wrapped
  /// transport.
  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await transport.send(request, body: body, progress: progress)
  }
}
