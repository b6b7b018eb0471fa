import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization

/// Signs each request with its owner and its number, and sees that one at a time is under way.
struct Stamp: TransportMiddleware {
  let model: ReferenceModel
  let owner: String

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    let order = model.server.nextOrder()
    var request = request
    request.headerFields[.authorization] = ReferenceServer.secret + owner
    request.headerFields[ReferenceModel.order] = "\(order)"
    let path = request.path ?? ""
    model.requestBegins(owner, path, order, isShared: request.method == .get)
    defer { model.requestEnds(owner, path, order) }
    model.world.note("\(owner)\(path): \(request.method) request \(order)")
    // What is cancelled is nobody's any more, however long it takes to leave.
    let (response, data) = try await withTaskCancellationHandler {
      try await next(request, body)
    } onCancel: {
      model.requestEnds(owner, path, order)
    }
    model.server.arrived(order)
    model.world.note("\(owner)\(path): request \(order) gets \(response.status.code)")
    return (response, data)
  }
}

extension ReferenceModel {
  /// - Parameter isShared: whether it is one that callers share.
  fileprivate func requestBegins(_ owner: String, _ path: String, _ order: Int, isShared: Bool) {
    let key = Key(owner: owner, path: path)
    state.withLock { $0.requests[key, default: 0] += 1 }
    guard isShared else { return }
    let (other, fences) = state.withLock { state in
      let fences = state.fences[key] ?? 0
      let other = state.underWay[key]
      state.underWay[key] = state.open[key, default: 0] == 0 ? UnderWay(order: order, fences: fences) : nil
      return (other, fences)
    }
    world.check(other?.fences != fences, "\(owner)\(path): two requests at once, and nothing came between them")
  }

  fileprivate func requestEnds(_ owner: String, _ path: String, _ order: Int) {
    let key = Key(owner: owner, path: path)
    state.withLock { state in
      if state.underWay[key]?.order == order { state.underWay[key] = nil }
    }
  }
}
