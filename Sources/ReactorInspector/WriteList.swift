import Foundation
import ReactorCore

/// The writes of the outboxes of the layers that are shown.
struct WriteList: Sendable, Hashable, Encodable {
  /// The number of writes that a frame lists.
  static let limit = 500

  /// A Boolean value that indicates whether a layer has an outbox.
  let hasOutbox: Bool
  /// The number of all writes, including writes that ``rows`` does not list.
  let count: Int
  /// The earliest writes: layer by layer, in the order of submission.
  let rows: [WriteRow]

  init(_ layers: [(id: Int, writes: [WriteStatus]?)]) {
    hasOutbox = layers.contains { $0.writes != nil }
    count = layers.reduce(0) { $0 + ($1.writes?.count ?? 0) }
    let all = layers.lazy.flatMap { id, writes in (writes ?? []).lazy.map { WriteRow($0, layer: id) } }
    rows = Array(all.prefix(Self.limit))
  }
}

/// A row of the list of writes.
struct WriteRow: Sendable, Hashable, Encodable {
  /// The page's identifier: the layer and the write.
  let id: String
  let layer: Int
  let lane: String
  /// The name of the mutation's type; empty if it is not known.
  let name: String
  /// The beginning of the write's identity, by which reasons name another write.
  let tag: String
  let state: String
  var reason: String?
  /// The time that completes the reason, in milliseconds since 1970. The page shows it in the
  /// reader's time zone.
  var until: Double?
  let attempts: Int
  let method: String?
  /// The URL, redacted.
  let url: String?
  let status: Int?
  /// Milliseconds since 1970.
  let submittedAt: Double?
  let commands: [String]

  init(_ write: WriteStatus, layer: Int) {
    id = "\(layer)-\(write.id.uuidString)"
    self.layer = layer
    lane = write.lane
    name = write.name
    tag = String(write.id.uuidString.prefix(8))
    state = write.state.rawValue
    reason = write.error.map(Reason.text) ?? write.reason
    until = write.until?.milliseconds.rounded(toTenths: ())
    attempts = write.attempts
    method = write.method
    url = write.url
    status = write.status
    submittedAt = write.submittedAt?.milliseconds.rounded(toTenths: ())
    commands = write.commands.map(\.rawValue)
  }

  /// Returns the layer and the write that an ``id`` names; `nil` for any other text.
  static func parts(of id: String) -> (layer: Int, write: UUID)? {
    guard let dash = id.firstIndex(of: "-"), let layer = Int(id[..<dash]),
      let write = UUID(uuidString: String(id[id.index(after: dash)...]))
    else { return nil }
    return (layer, write)
  }
}

extension Recorder {
  /// The milliseconds after which the writes are listed again, though no outbox reports a change: a
  /// reason may have changed with connectivity or with time.
  static let writesInterval = 1_000.0

  /// Returns the writes if they have changed since `cursor`, and advances it.
  func writes(_ cursor: inout FeedCursor, _ layers: Layers) -> WriteList? {
    // The versions are read before the writes, so a change in between is listed next time.
    let versions = layers.map(\.layer.writesVersion)
    let now = now
    guard versions != cursor.writeVersions || abs(now - cursor.writesAt) >= Self.writesInterval else { return nil }
    cursor.writeVersions = versions
    cursor.writesAt = now
    let list = WriteList(layers.map { ($0.id, $0.layer.writes) })
    guard list != cursor.writes else { return nil }
    cursor.writes = list
    return list
  }

  /// Returns the layer and the write with the page's identifier `id`; `nil` if there is no such
  /// layer.
  func write(_ id: String) -> (layer: ModelLayer, write: UUID)? {
    guard let (number, write) = WriteRow.parts(of: id) else { return nil }
    return layers().layers.first { $0.id == number }.map { ($0.layer, write) }
  }
}
