import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Switches for the behaviour of the API.
final class Dials: Sendable {
  struct Settings: Codable, Sendable, ResponseEncodable {
    /// Every request is answered with 503.
    var outage = false
    /// The delay before an answer, and again before its end; in milliseconds, at most 5,000.
    var latency = 0
  }

  /// New positions of some dials. A dial whose value is `nil` stays as it is.
  struct Change: Decodable, Sendable {
    var outage: Bool?
    var latency: Int?
  }

  /// The group of the lists of articles.
  static let lists = "lists"

  /// Waits for the latency. The caller of ``NewsServer`` injects it.
  let sleep: @Sendable (Duration) async throws -> Void
  private let state = Mutex(Settings())

  init(sleep: @escaping @Sendable (Duration) async throws -> Void) { self.sleep = sleep }

  var settings: Settings { state.withLock(\.self) }

  func apply(_ change: Change) {
    state.withLock { settings in
      settings.outage = change.outage ?? settings.outage
      settings.latency = min(max(0, change.latency ?? settings.latency), 5_000)
    }
  }

  /// `value` as JSON, or 304 where the client has it already.
  ///
  /// - Parameters:
  ///   - seconds: how long it is fresh.
  ///   - group: the group that changes with it (RFC 9875).
  func answer(
    _ value: some Encodable, to request: Request, freshFor seconds: Int, in group: String? = nil
  ) throws -> Response {
    let body = try Self.encoder.encode(value)
    let tag = EntityTag.of(body)
    var fields: HTTPFields = [.eTag: tag, .cacheControl: "private, max-age=\(seconds)", .vary: "Authorization"]
    if let group, let name = HTTPField.Name("Cache-Groups") { fields[name] = "\"\(group)\"" }
    guard request.method != .get || request.headers[.ifNoneMatch] != tag else {
      return Response(status: .notModified, headers: fields)
    }
    fields[.contentType] = "application/json"
    return Response(status: .ok, headers: fields, body: slowed(ByteBuffer(bytes: body)))
  }

  /// Returns the `ETag` that an answer with this value has; `nil` if it cannot be encoded.
  static func tag(of value: some Encodable) -> String? { (try? encoder.encode(value)).map(EntityTag.of) }

  /// Writes what clients read.
  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }

  private func slowed(_ body: ByteBuffer) -> ResponseBody {
    let pause = Duration.milliseconds(settings.latency) / 10
    guard pause > .zero else { return ResponseBody(byteBuffer: body) }
    return ResponseBody(contentLength: body.readableBytes) { [sleep] writer in
      var rest = body
      while rest.readableBytes > 0 {
        try await sleep(pause)
        let size = min(rest.readableBytes, body.readableBytes / 10 + 1)
        if let piece = rest.readSlice(length: size) { try await writer.write(piece) }
      }
      try await writer.finish(nil)
    }
  }
}
