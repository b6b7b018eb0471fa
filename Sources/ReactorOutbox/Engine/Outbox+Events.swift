import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore

/// The events of an outbox.
extension Outbox {
  func emit(_ entry: OutboxEntry?, _ step: ReactorEvent.OutboxStep, _ layer: LayerContext) {
    emit(entry?.id ?? process, key: entry?.request?.key(in: layer), step, layer, name: entry?.name)
  }

  func emit(
    _ id: UUID, key: RecordKey?, _ step: ReactorEvent.OutboxStep, _ layer: LayerContext, name: String? = nil
  ) {
    layer.report(.outbox(id, step), of: key, model: name ?? "Outbox")
  }

  func emit(_ ended: Ended, _ layer: LayerContext) {
    emit(ended.entry, ended.step, layer)
  }
}

extension Ended {
  fileprivate var step: ReactorEvent.OutboxStep {
    switch consequence {
    case .again, .signIn: return .postponed(entry.outcome?.reason ?? "")
    case .rebase: return .conflicted(isRebased: true)
    case .asks: return .conflicted(isRebased: false)
    case .ended: break
    }
    switch entry.state {
    case .accepted: return .accepted
    case .unresolved: return .unresolved
    case .waiting, .sending, .unknown, .conflicted, .refused: return .refused(error ?? .cancelled)
    }
  }
}

extension FrozenRequest {
  var hasIfMatch: Bool { fields.contains { $0.name.lowercased() == "if-match" } }

  /// Returns the key of the URL's records.
  func key(in layer: LayerContext) -> RecordKey {
    layer.key(ofURL: url)
  }

  /// Returns the message to send; `nil` if the method or the URL is invalid.
  func message(_ key: String?, _ configuration: OutboxConfiguration) -> HTTPRequest? {
    guard var message = line else { return nil }
    for field in fields {
      guard let name = HTTPField.Name(field.name) else { continue }
      message.headerFields.append(HTTPField(name: name, value: field.value))
    }
    if isKeyed, let key { message.headerFields[configuration.idempotencyField] = key }
    return message
  }

  /// The method and the target; `nil` if one of them is invalid.
  var line: HTTPRequest? {
    // The target is sent as it was saved, since `URL` would encode some characters differently.
    // By its bytes: a search for characters takes five times the rest.
    guard let method = HTTPRequest.Method(method), let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")),
      url.utf8[colon...].starts(with: "://".utf8)
    else { return nil }
    let rest = url.utf8[colon...].dropFirst(3)
    let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    let target = url[end...]
    return HTTPRequest(
      method: method, scheme: String(url[..<colon]), authority: String(url[rest.startIndex..<end]),
      path: target.utf8.first == UInt8(ascii: "/") ? String(target) : "/\(target)")
  }
}
