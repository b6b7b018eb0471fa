package import Foundation
public import HTTPTypes
public import ReactorCore
public import ReactorFlux

/// A live page that shows what running model layers hold and do, and why.
///
/// The inspector is not a server. It answers requests, and you mount it in a server of your choice.
/// It is meant for debug builds, and nothing is reachable until you mount it.
///
/// ```swift
/// #if DEBUG
///   let inspector = Inspector(layer)
///   for path: RouterPath in ["inspector", "inspector/**"] {
///     for method in [HTTPRequest.Method.get, .post] {
///       router.on(path, method: method) { request, _ in
///         let (response, body) = await inspector.respond(to: request.head)
///         let bytes = ResponseBody(asyncSequence: body.map { ByteBuffer(bytes: $0) })
///         return Response(status: response.status, headers: response.headerFields, body: bytes)
///       }
///     }
///   }
/// #endif
/// ```
///
/// An inspector records events from its creation: the latest 40 of each of 10,000 keys, and the
/// latest 1,000 overall. It shows neither models nor any part of a body. It shows keys by their
/// descriptions, which redact the query items that the configuration declares secret. If a layer
/// has an outbox, the inspector lists its writes, and why each waits.
///
/// Without a password, anyone who can reach the server sees the page. A request that changes
/// something must carry a token that the page contains, and must not come from another origin. The
/// inspector refuses a request whose host is not one of `hosts`. Otherwise, a page under another
/// name that resolves to this address could read it (DNS rebinding).
public final class Inspector: Sendable {
  let recorder: Recorder
  private let admission: Admission
  private let clock: any Clock<Duration>

  /// Creates an inspector of the given layers.
  ///
  /// - Parameters:
  ///   - layers: The layers to show, referenced weakly. ``show(_:)-(ModelLayer)`` adds others.
  ///   - path: The path under which the inspector is mounted.
  ///   - hosts: The accepted host names and addresses, without ports. Case does not matter.
  ///   - password: The password that every request must have, with any user name (Basic, RFC 7617).
  ///     A browser prompts for it. Use 16 random characters or more, since any number may be tried;
  ///     an empty one admits nobody. Default: `nil`, for none.
  ///   - isReadOnly: `true` for a page that changes nothing. Default: `false`.
  public convenience init(
    _ layers: ModelLayer..., path: String = "/inspector", hosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"],
    password: String? = nil, isReadOnly: Bool = false
  ) {
    self.init(
      path: path, hosts: hosts, password: password, isReadOnly: isReadOnly, clock: ContinuousClock(), now: { Date() })
    for layer in layers { show(layer) }
  }

  package init(
    path: String = "/inspector", hosts: Set<String> = ["localhost"], password: String? = nil, isReadOnly: Bool = false,
    clock: any Clock<Duration>, now: @escaping @Sendable () -> Date
  ) {
    recorder = Recorder(now: now)
    admission = Admission(
      path: path, hosts: hosts, token: Self.random(), password: password, isReadOnly: isReadOnly)
    self.clock = clock
  }

  /// Shows another layer beside the others, from now on until the layer is deallocated. Showing a
  /// layer again has no effect.
  public func show(_ layer: ModelLayer) { recorder.show(layer) }

  /// Shows the actions that reach `dispatcher`, the fields of its stores that each has changed, and
  /// the changes that the stores emit.
  ///
  /// Call it after the dispatcher's other middlewares are added, so that it sees the actions as the
  /// stores receive them. It passes every action on unchanged and in order.
  ///
  /// ```swift
  /// inspector.show(dispatcher, values: .shown { store, field in field == "page" })
  /// ```
  ///
  /// - Parameters:
  ///   - dispatcher: The dispatcher, which is not retained.
  ///   - values: The fields whose values are shown. Default: none, only the names of the fields.
  ///     Fields that are named like a secret are never shown.
  @MainActor public func show(_ dispatcher: Dispatcher, values: StateVisibility = .hidden) {
    recorder.beginFlux()
    FluxObserver.observe(dispatcher, for: recorder, showing: values)
  }

  /// Returns the response to a request. A path outside the inspector's mount path is a 404.
  ///
  /// The body of the live feed does not end by itself. It ends when its reader cancels the
  /// iterating task or releases the iterator.
  public func respond(to request: HTTPRequest) async -> (response: HTTPResponse, body: InspectorBody) {
    await response(to: admission.decision(request)).message
  }

  private func response(to decision: Admission.Decision) async -> InspectorResponse {
    switch decision {
    case .page: Page.response(path: admission.path, token: admission.token, isReadOnly: admission.isReadOnly)
    case .live: .live(LiveFeed(recorder: recorder, clock: clock))
    case .key(let id):
      recorder.detail(id).map { .json($0) }
        ?? .text(.notFound, "the inspector has no record of this key any more; reload the page")
    case .change(let action, let id): await perform(action, id)
    case .write(let command, let id): await perform(command, onWrite: id)
    case .offline(let isOn): goOffline(isOn)
    case .misdirected:
      .text(.misdirectedRequest, "the inspector does not serve this host; add it to `hosts` in Inspector.init")
    case .unauthorized:
      .text(
        .unauthorized, "the inspector needs its password, with any user name",
        [.wwwAuthenticate: #"Basic realm="Reactor Inspector", charset="UTF-8""#])
    case .notFound: .text(.notFound, "there is no such page")
    case .notAllowed(let methods): .text(.methodNotAllowed, "this page accepts only \(methods)", [.allow: methods])
    case .forbidden(let reason): .text(.forbidden, reason)
    case .badRequest(let reason): .text(.badRequest, reason)
    }
  }

  private func perform(_ action: Admission.Action, _ id: String) async -> InspectorResponse {
    guard let (subject, layer) = recorder.subject(id) else {
      return .text(.notFound, "the inspector has no record of this key any more; reload the page")
    }
    do throws(ReactorError) {
      switch action {
      case .invalidate: try await layer.invalidate(subject.key)
      case .remove: try await layer.remove(subject.key)
      case .refetch:
        guard layer.refetch(subject.key) else {
          return .text(.conflict, "the key is no longer in memory, so it cannot be fetched again")
        }
      }
    } catch {
      return .text(.internalServerError, Reason.text(error))
    }
    return .text(.noContent, "")
  }

  private func perform(_ command: WriteStatus.Command, onWrite id: String) async -> InspectorResponse {
    guard let (layer, write) = recorder.write(id) else {
      return .text(.notFound, "the inspector has no record of this write any more; reload the page")
    }
    guard await layer.perform(command, onWrite: write) else {
      return .text(
        .conflict,
        "the outbox did not \(command.rawValue) the write: it is gone, its state forbids it, or the store failed")
    }
    return .text(.noContent, "")
  }

  private func goOffline(_ isOn: Bool) -> InspectorResponse {
    for (_, layer) in recorder.layers().layers { layer.isOffline = isOn }
    return .text(.noContent, "")
  }

  /// Returns 128 random bits as 32 hexadecimal digits.
  static func random() -> String {
    (0..<2).map { _ in
      let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
