public import Foundation
public import ReactorCore
public import ServerSentEvents

/// An event's statement about the layer's resources.
@nonexhaustive public enum LiveEffect: Sendable {
  /// These resources have changed. What is cached of them is stale, and what is observed is
  /// requested again.
  ///
  /// `etag` is the strong entity tag of the resource's version now, if the server tells it: a copy
  /// with this tag is not stale. `by` is the `Change-Id` of the write that has made the change, if
  /// the server repeats it: a write of this layer costs no second request.
  case stale(ResourceSet, etag: String? = nil, by: String? = nil)
  /// The new body of a resource, in place of the version whose strong entity tag is `from`. Where
  /// the layer does not show exactly that version, this is a change as any other.
  case value(Resource, Data, from: String, etag: String)
  /// The difference between two versions of a resource in JSON (RFC 7396), with the strong entity
  /// tags of both. It needs the earlier version on disk.
  case merge(Resource, JSONValue, from: String, etag: String)
  /// The server has removed a resource. What is cached of it is forgotten without a request, as
  /// after a 410. `by` is as in ``stale(_:etag:by:)``.
  case gone(Resource, by: String? = nil)
  /// Changes may have been missed. Everything that the stream covers is stale.
  case gap
}

/// The meaning of a stream's events.
///
/// ```swift
/// let mapping = LiveMapping { event in
///   guard event.type == "order" else { return [] }
///   return [.stale(.under("orders/\(event.data)"))]
/// }
/// let layer = ModelLayer(backend: backend, extensions: [.live("notifications", mapping: mapping)])
/// ```
public struct LiveMapping: Sendable {
  /// The format of <doc:ChangeFormat>, with positions, gaps and heartbeats. It is what
  /// ReactorChangeFeed sends.
  public static var changes: LiveMapping { LiveMapping(reading: nil, resumes: true, covers: [.all], heartbeat: nil) }

  /// Reads an event of another format; `nil` for ``changes``.
  let reading: (@Sendable (ServerSentEvent) throws -> [LiveEffect]?)?
  /// Returns the URL that an event is about, `nil` if it is not known; `nil` for other formats.
  var naming: (@Sendable (ServerSentEvent) -> String?)?
  let resumes: Bool
  let covers: [ResourceSet]
  let heartbeat: Duration?

  /// Creates the meaning of another server's events.
  ///
  /// - Parameters:
  ///   - resumes: `true` if the server repeats everything behind the request's `Last-Event-ID`,
  ///     after a reconnection and after a launch, which may send an id that is weeks old. By
  ///     default, each connection counts as a gap.
  ///   - covers: The resources whose changes the stream tells. They poll rarely while it is open,
  ///     and a gap concerns them.
  ///   - heartbeat: The interval at which the server sends at least a comment. If nothing arrives
  ///     for two and a half of them, the stream is opened anew. By default, there is no limit.
  ///   - effects: Returns what an event says: an empty array for nothing, `nil` if it is not
  ///     understood. The latter, and an error, count as a gap. It may be called from any isolation.
  public init(
    resumes: Bool = false, covers: [ResourceSet] = [.all], heartbeat: Duration? = nil,
    _ effects: @escaping @Sendable (ServerSentEvent) throws -> [LiveEffect]?
  ) {
    self.init(reading: effects, resumes: resumes, covers: covers, heartbeat: heartbeat)
  }

  /// Creates the meaning of events each of which is about one URL. The server says in its response
  /// where it resumes.
  init(
    naming: @escaping @Sendable (ServerSentEvent) -> String?, covers: [ResourceSet], heartbeat: Duration?
  ) {
    self.init(reading: { _ in nil }, resumes: true, covers: covers, heartbeat: heartbeat)
    self.naming = naming
  }

  private init(
    reading: (@Sendable (ServerSentEvent) throws -> [LiveEffect]?)?, resumes: Bool, covers: [ResourceSet],
    heartbeat: Duration?
  ) {
    (self.reading, self.resumes, self.covers, self.heartbeat) = (reading, resumes, covers, heartbeat)
  }
}
