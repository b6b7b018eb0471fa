import Foundation
import HTTPTypes
public import ReactorCore
import ServerSentEvents

extension ModelLayer.Extension {
  /// The extension that follows the changes of the server.
  ///
  /// ```swift
  /// let layer = ModelLayer(baseURL: api, extensions: [.live("events")])
  /// ```
  ///
  /// While something of the layer is observed, one stream of server-sent events is open. What it
  /// names is stale at once, and requested again where it is observed. The request is signed by the
  /// backend's middlewares, as any other.
  ///
  /// - Parameters:
  ///   - resource: The stream. Its path is relative to the base URL.
  ///   - mapping: The meaning of its events. Default: the format of <doc:ChangeFormat>.
  ///   - configuration: When it is open, and how much it may cause.
  public static func live(
    _ resource: Resource, mapping: LiveMapping = .changes, configuration: LiveConfiguration = LiveConfiguration()
  ) -> ModelLayer.Extension {
    var resource = resource
    resource.headers[.accept] = "text/event-stream"
    resource.headers[.cacheControl] = "no-store"
    return live(mapping, configuration) { [resource] layer in
      // An invalid resource is told by the request.
      (try? layer.backend?.request(for: resource).absoluteURL) ?? ""
    } open: { [resource] layer, request throws(ReactorError) in
      guard let backend = layer.backend else { throw .streamingUnsupported }
      let stream = try await backend.stream(
        for: resource.stream(request, savesPower: layer.configuration.lowPower.source.isOn),
        clock: layer.configuration.clock)
      return LiveResponse(stream)
    }
  }

  /// Creates an extension whose stream comes from anywhere.
  ///
  /// - Parameters:
  ///   - place: The name under which the place in the history is saved. Default: the base.
  ///   - base: Returns the URL to which the events' references are relative.
  ///   - open: Requests the stream behind a position, or a long poll.
  package static func live(
    _ mapping: LiveMapping, _ configuration: LiveConfiguration, place: String? = nil,
    base: @escaping @Sendable (LayerContext) -> String,
    open: @escaping @Sendable (LayerContext, LiveRequest) async throws(ReactorError) -> LiveResponse
  ) -> ModelLayer.Extension {
    ModelLayer.Extension { layer in
      LiveUpdates(layer, mapping: mapping, configuration: configuration, place: place, base: base(layer)) {
        [weak layer] request throws(ReactorError) in
        guard let layer else { throw .cancelled }
        return try await open(layer, request)
      }
    }
  }
}

extension Resource {
  /// The request for the stream behind a position. While power is saved, it asks for fewer
  /// heartbeats. A server may ignore that, and a `wait` (RFC 7240 §2).
  func stream(_ request: LiveRequest, savesPower: Bool) -> Resource {
    var resource = self
    if !request.lastEventID.isEmpty, let name = HTTPField.Name("Last-Event-ID") {
      resource.headers[name] = request.lastEventID
    }
    let wait = request.wait.map { "wait=\($0.components.seconds)" }
    if let preference = wait ?? (savesPower ? "heartbeat=60" : nil), let name = HTTPField.Name("Prefer") {
      resource.headers[name] = [resource.headers[name], preference].compactMap(\.self).joined(separator: ", ")
    }
    return resource
  }
}

extension ModelLayer {
  /// The changes of the server; `nil` for a layer without
  /// ``ReactorCore/ModelLayer/Extension/live(_:mapping:configuration:)``.
  public var live: LiveUpdates? { layer.parts.lazy.compactMap { $0 as? LiveUpdates }.first }
}
