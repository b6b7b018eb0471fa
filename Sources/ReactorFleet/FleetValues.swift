public import Foundation

/// The URL of a scope, in the current generation of both: a digest that reveals neither.
public struct FleetURLID: Sendable, Hashable {
  /// The digest, in 64 hexadecimal digits.
  public let text: String

  /// Creates an id from the text of another.
  public init(text: String) { self.text = text }
}

/// One record of a URL.
public struct FleetRecordID: Sendable, Hashable {
  /// The URL of the record. All records of one URL are invalidated and evicted together.
  public let url: FleetURLID
  /// The name of the record within its URL, in hexadecimal digits and points.
  public let name: String

  /// Creates an id from its parts.
  public init(url: FleetURLID, name: String) {
    self.url = url
    self.name = name
  }
}

/// A point in the history of a URL's records: microseconds since 1970 by the store's clock. Each is
/// greater than every earlier one of the same URL.
public struct FleetVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The microseconds.
  public let rawValue: UInt64

  /// Creates a version from the number of another.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

  /// The number, in decimal digits.
  public var description: String { "\(rawValue)" }
}

/// The right to store the response to a request that is sent after it was drawn.
///
/// ```swift
/// if case .granted(let ticket, _) = try await store.begin(
///   record, .lease, lease: .seconds(2), retention: .seconds(60))
/// {
///   let change = FleetChange.response(head: head, body: body)
///   let end = try await store.commit(ticket, change, retention: .seconds(60))
/// }
/// ```
public struct FleetTicket: Sendable, Hashable {
  /// The record that will have the response.
  public let record: FleetRecordID
  /// The time at which the ticket was drawn.
  public let version: FleetVersion

  /// Creates a ticket from its parts.
  public init(record: FleetRecordID, version: FleetVersion) {
    self.record = record
    self.version = version
  }
}

/// The versions of one record in a hash.
public struct FleetVersions: Sendable, Hashable {
  /// The ticket of the response whose body is stored; `nil` without one.
  public var body: FleetVersion?
  /// The ticket of the latest 304 (Not Modified) that has confirmed it.
  public var confirmation: FleetVersion?
  /// The latest fence of the URL.
  public var fence: FleetVersion?

  /// Creates versions from their parts.
  public init(body: FleetVersion? = nil, confirmation: FleetVersion? = nil, fence: FleetVersion? = nil) {
    self.body = body
    self.confirmation = confirmation
    self.fence = fence
  }

  /// The ticket of the latest request that brought or confirmed the stored response.
  public var latest: FleetVersion? { body.map { max($0, confirmation ?? $0) } }

  /// A Boolean value that indicates whether the record was declared stale since then.
  public var isFenced: Bool {
    guard let latest, let fence else { return false }
    return latest <= fence
  }
}

/// The stored record as a server finds it.
public struct FleetStoredRecord: Sendable, Hashable {
  /// The versions of the record.
  public var versions: FleetVersions
  /// Everything but the body; `nil` without a record.
  public var head: Data?
  /// The body; `nil` without a record, or if the caller has that version.
  public var body: Data?

  /// Creates a record from its parts.
  public init(versions: FleetVersions = FleetVersions(), head: Data? = nil, body: Data? = nil) {
    self.versions = versions
    self.head = head
    self.body = body
  }
}

/// The kind of lease that a server asks for.
public enum FleetLeaseRequest: String, Sendable, Hashable, CaseIterable {
  /// A lease: if another server has it, the caller waits.
  case lease
  /// No lease: the server sends its request in any case, and no other server waits for it.
  case ticket
}

/// The store's answer to a server that wants to send a request.
///
/// ```swift
/// switch try await store.begin(record, .lease, lease: .seconds(2), retention: .seconds(60)) {
/// case .granted(let ticket, _), .pass(let ticket, _): try await send(ticket)
/// case .held(let time, _), .failed(let time, _): try await wait(time)
/// }
/// ```
public enum FleetLeaseAnswer: Sendable, Hashable {
  /// Send the request. Renew the lease meanwhile, and finish with a commit or a release. The
  /// versions are as they were before the ticket.
  case granted(FleetTicket, FleetVersions)
  /// Send the request without a lease: recent responses could not be stored, or no lease was
  /// requested.
  case pass(FleetTicket, FleetVersions)
  /// Another server has the lease, for this long.
  case held(Duration, FleetVersions)
  /// The request of another server has failed, and no server sends it again for this long.
  case failed(Duration, FleetVersions)
}

/// A response to store.
public enum FleetChange: Sendable, Hashable {
  /// A response with its body.
  case response(head: Data, body: Data)
  /// A 304 (Not Modified) that confirms the body of a version, with the new head.
  case confirmation(head: Data, of: FleetVersion)
}

/// The result of a commit.
public enum FleetCommitResult: String, Sendable, Hashable {
  /// The response is stored.
  case kept
  /// The URL was declared stale after the request was sent.
  case fenced
  /// A response to a later request is stored.
  case older
  /// The hash was removed or evicted since the ticket was drawn.
  case lost
}

/// The reason for releasing a lease.
///
/// ```swift
/// try await store.release(ticket, .failed(.seconds(1)))
/// ```
public enum FleetRelease: Sendable, Hashable {
  /// The request was abandoned. Another server may send it.
  case abandoned
  /// The request has failed. No server sends it for this long.
  case failed(Duration)
  /// The response cannot be stored. For this long, no server waits for another one's request.
  case pass(Duration)
}

/// A random text that names the contents of a scope since its latest removal.
public typealias FleetGeneration = String

/// The state of the store that each heartbeat returns.
public struct FleetHeartbeat: Sendable, Hashable {
  /// The identity of the store. It changes if the store was replaced or has lost its contents.
  public var store: String
  /// The generations of the scopes, in their order.
  public var generations: [FleetGeneration]

  /// Creates a heartbeat from its parts.
  public init(store: String, generations: [FleetGeneration]) {
    self.store = store
    self.generations = generations
  }
}

/// A message to every server.
///
/// ```swift
/// try await store.follow(node) { message in
///   if case .fenced(let url, let version) = message { invalidate(url, before: version) }
/// }
/// ```
///
/// Messages may be lost. ``FleetStore/beat(_:nonce:scopes:)`` detects that.
public enum FleetMessage: Sendable, Hashable {
  /// The subscription is established. All later messages arrive.
  case following
  /// A record has a new body. Servers that wait for it can read it.
  case stored(FleetRecordID, FleetVersion)
  /// A lease was released without a response.
  case released(FleetRecordID)
  /// Everything of a URL below this version is stale.
  case fenced(FleetURLID, FleetVersion)
  /// A scope has a new generation.
  case renewed(scope: String, FleetGeneration)
  /// This server's own heartbeat.
  case beat(UInt64)
}
