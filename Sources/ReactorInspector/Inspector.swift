package import Foundation
public import HTTPTypes
public import ReactorCore
public import ReactorFlux

/// A live page over running model layers: what they hold, what they do, and why.
///
/// It is no server: it answers requests, and any server mounts it. It belongs in debug builds, and is off unless it is mounted.
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
/// From its making on it keeps the latest events: 40 of each of 10,000 keys, and 1,000 of all. Models are not shown, nor
/// anything of a body; keys are shown as they describe themselves, so that the query items that the configuration names secret are not.
///
/// Whoever can reach the server sees the page. What changes something needs a token that the page carries, and comes from no other
/// origin. A request under a name that is not one of `hosts` is refused, or a page of another name that resolves to this address could read it.
public final class Inspector: Sendable {
  let recorder: Recorder
  private let admission: Admission
  private let clock: any Clock<Duration>

  /// - Parameters:
  ///   - layers: are not kept alive; ``show(_:)-(ModelLayer)`` adds others.
  ///   - path: where it is mounted.
  ///   - hosts: the names and addresses, without a port, under which it may be asked.
  public convenience init(
    _ layers: ModelLayer..., path: String = "/inspector", hosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]
  ) {
    self.init(path: path, hosts: hosts, clock: ContinuousClock(), now: { Date() })
    for layer in layers { show(layer) }
  }

  package init(
    path: String = "/inspector", hosts: Set<String> = ["localhost"], clock: any Clock<Duration>,
    now: @escaping @Sendable () -> Date
  ) {
    recorder = Recorder(now: now)
    admission = Admission(path: path, hosts: hosts, token: Self.random())
    self.clock = clock
  }

  /// Shows another layer beside the others, from now on and for as long as that lives.
  public func show(_ layer: ModelLayer) { recorder.show(layer) }

  /// Shows the actions that pass `dispatcher`, and which stores changed. To be called last, after its other middlewares are added, so that
  /// it sees what the stores get. It passes every action on as it is, and the order of all stays.
  @MainActor public func show(_ dispatcher: Dispatcher) {
    recorder.beginFlux()
    FluxObserver.observe(dispatcher, for: recorder)
  }

  /// The answer to a request whose path begins with the inspector's; to another it is 404.
  ///
  /// The body of the live feed goes on until its reader ends it: by cancelling the task that iterates, or releasing the iterator.
  public func respond(to request: HTTPRequest) async -> (response: HTTPResponse, body: InspectorBody) {
    await response(to: admission.decision(request)).message
  }

  private func response(to decision: Admission.Decision) async -> InspectorResponse {
    switch decision {
    case .page: Page.response(path: admission.path, token: admission.token)
    case .live: .live(LiveFeed(recorder: recorder, clock: clock))
    case .key(let id):
      recorder.detail(id).map { .json($0) } ?? .text(.notFound, "nothing is known of this key any more")
    case .change(let action, let id): await perform(action, id)
    case .offline(let isOn): goOffline(isOn)
    case .misdirected: .text(.misdirectedRequest, "this host is none of the inspector's; see hosts in Inspector.init")
    case .notFound: .text(.notFound, "there is no such page")
    case .notAllowed(let methods): .text(.methodNotAllowed, "this is asked for with \(methods)", [.allow: methods])
    case .forbidden(let reason): .text(.forbidden, reason)
    case .badRequest(let reason): .text(.badRequest, reason)
    }
  }

  private func perform(_ action: Admission.Action, _ id: String) async -> InspectorResponse {
    guard let (subject, layer) = recorder.subject(id) else {
      return .text(.notFound, "nothing is known of this key any more")
    }
    do throws(ReactorError) {
      switch action {
      case .invalidate: try await layer.invalidate(subject.key)
      case .remove: try await layer.remove(subject.key)
      case .refetch:
        guard layer.refetch(subject.key) else { return .text(.conflict, "the key is not in memory") }
      }
    } catch {
      return .text(.internalServerError, Reason.text(error))
    }
    return .text(.noContent, "")
  }

  private func goOffline(_ isOn: Bool) -> InspectorResponse {
    for (_, layer) in recorder.layers().layers { layer.isOffline = isOn }
    return .text(.noContent, "")
  }

  /// 128 bits in hexadecimal digits.
  static func random() -> String {
    (0..<2).map { _ in
      let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
