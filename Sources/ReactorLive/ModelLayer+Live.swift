import Foundation
import HTTPTypes
public import ReactorCore
import ServerSentEvents

extension LayerExtension {
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
  ) -> LayerExtension {
    var resource = resource
    resource.headers[.accept] = "text/event-stream"
    resource.headers[.cacheControl] = "no-store"
    return LayerExtension { [resource] layer in
      let backend = layer.backend
      let clock = layer.configuration.clock
      // An invalid resource is told by the request.
      let base = (try? backend?.request(for: resource).absoluteURL) ?? ""
      return LiveUpdates(layer, mapping: mapping, configuration: configuration, base: base) { id throws(ReactorError) in
        guard let backend else { throw .streamingUnsupported }
        var request = resource
        if !id.isEmpty, let name = HTTPField.Name("Last-Event-ID") { request.headers[name] = id }
        let stream = try await backend.stream(for: request, clock: clock)
        return LiveResponse(
          status: stream.response.status.code, contentType: stream.response.headerFields[.contentType],
          body: stream.body)
      }
    }
  }
}

extension ModelLayer {
  /// The changes of the server; `nil` for a layer without
  /// ``ReactorCore/LayerExtension/live(_:mapping:configuration:)``.
  public var live: LiveUpdates? { layer.parts.lazy.compactMap { $0 as? LiveUpdates }.first }
}
