import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Synchronization

/// Signs each request with its owner and its number, and sees that one at a time is under way.
struct RequestSigner: TransportMiddleware {
  let model: ReferenceModel
  let owner: String

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    let order = model.server.nextOrder()
    model.server.sent(order)
    var request = request
    request.headerFields[.authorization] = ReferenceServer.secret + owner
    request.headerFields[ReferenceModel.order] = "\(order)"
    let path = request.path ?? ""
    let place = Place(
      owner: owner, path: path, kind: request.headerFields[Place.kindField].flatMap(Place.Kind.init) ?? .document,
      language: request.headerFields[.acceptLanguage] ?? "")
    model.requestBegins(place, order, isShared: request.method != .put)
    defer { model.requestEnds(place, order) }
    model.world.note("\(place): \(request.method) request \(order)")
    // A cancelled request belongs to no caller, however long it takes to end.
    let (response, data) = try await withTaskCancellationHandler {
      try await next(request, body)
    } onCancel: {
      model.requestEnds(place, order)
    }
    // A slow step of one type, such as its parser, delays only that type: the others' answers
    // overtake it.
    if place.kind == .sheet, model.slowness > .zero { try await model.world.clock.sleep(for: model.slowness) }
    model.server.arrived(order)
    model.world.note("\(place): request \(order) gets \(response.status.code)")
    return (response, data)
  }
}

extension ReferenceModel {
  /// - Parameter isShared: whether callers share it.
  fileprivate func requestBegins(_ place: Place, _ order: Int, isShared: Bool) {
    let key = Key(place)
    state.withLock { state in
      state.requests[key, default: 0] += 1
      // The answer may overtake the other type's answers, and replace other variants' records.
      let varies = server.varying.contains(place.path)
      for other in Place.all(place.owner) where other.path == place.path {
        guard other.kind != place.kind || (varies && other.language != place.language) else { continue }
        state.overwritten[other, default: 0] += 1
      }
      state.overwrittenWhenSent[order] = state.overwritten
    }
    guard isShared else { return }
    let (other, fences) = state.withLock { state in
      let fences = state.fences[key] ?? 0
      let other = state.underWay[key]
      state.underWay[key] = state.open[key, default: 0] == 0 ? UnderWay(order: order, fences: fences) : nil
      let isSecond = other?.fences == fences
      return (isSecond && state.mayRestart.remove(key) != nil ? nil : other, fences)
    }
    world.check(other?.fences != fences, "\(place): two requests at once, and nothing came between them")
  }

  fileprivate func requestEnds(_ place: Place, _ order: Int) {
    let key = Key(place)
    state.withLock { state in
      if state.underWay[key]?.order == order { state.underWay[key] = nil }
    }
  }
}
