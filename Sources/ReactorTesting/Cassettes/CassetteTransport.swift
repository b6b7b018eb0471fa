public import Foundation
public import HTTPTypes
public import ReactorCore

/// A transport that records a cassette once, and plays it from then on.
///
/// ```swift
/// let transport = try CassetteTransport(file, over: URLSessionTransport())
/// ```
///
/// To record anew, remove the file, or choose ``Mode/record``.
public struct CassetteTransport: Transport {
  public enum Mode: String, Sendable, Hashable, CaseIterable {
    /// There must be a file.
    case play
    /// The file is replaced.
    case record
    /// Plays the file where there is one.
    case recordIfMissing
  }

  private let transport: any Transport

  /// - Throws: ``CassetteError``, where a file is played that cannot be.
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

  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await transport.send(request, body: body, progress: progress)
  }
}
