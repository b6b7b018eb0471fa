public import Foundation
public import HTTPTypes
import Synchronization

/// The APIs of the shop.
public enum ShopAPI: String, CaseIterable, Sendable {
  case catalogue, stock, account

  /// Returns the answer to a request at a time.
  public func answer(_ request: ShopRequest, at date: Date) -> ShopAnswer {
    switch self {
    case .catalogue:
      guard let id = request.id, (1...10_000).contains(id) else { return .missing }
      return ShopAnswer(
        #"{"id":\#(id),"name":"Product \#(id)","cents":\#(request.cents ?? 500 + id * 37 % 9_000),"about":"\#(Self.about)"}"#,
        freshFor: 60, whoAsks: request)
    case .stock:
      guard let id = request.id, (1...10_000).contains(id) else { return .missing }
      // Another number each four seconds.
      let available = (id * 7 + Int(date.timeIntervalSince1970 / 4)) % 50
      return ShopAnswer(#"{"id":\#(id),"available":\#(available)}"#, freshFor: 2, whoAsks: request)
    case .account:
      guard let name = request.user else { return ShopAnswer(status: .unauthorized) }
      return ShopAnswer(
        #"{"name":"\#(name)","discountPercent":\#(name.utf8.reduce(0) { ($0 + Int($1)) % 30 })}"#,
        freshFor: 10, whoAsks: request, isPrivate: true)
    }
  }

  private static let about = String(repeating: "Made to last, and easy to mend. ", count: 20)
}

/// A request to an API of the shop.
public struct ShopRequest: Sendable {
  var id: Int?
  var user: String?
  var tag: String?
  /// The price that the product was given; `nil` for its first one.
  var cents: Int?

  /// - Parameters:
  ///   - id: the id in the path.
  ///   - authorization: the field of this name.
  ///   - tag: the field `If-None-Match`.
  public init(id: Int? = nil, authorization: String? = nil, tag: String? = nil) {
    self.id = id
    self.tag = tag
    guard let token = authorization, token.hasPrefix("Bearer user-") else { return }
    user = String(token.dropFirst("Bearer user-".count).filter { $0.isASCII && ($0.isLetter || $0.isNumber) })
  }
}

/// An answer of an API of the shop. A repeated one is a 304.
public struct ShopAnswer: Sendable {
  public var status: HTTPResponse.Status
  public var fields: HTTPFields = [:]
  public var body: String?

  static let missing = ShopAnswer(status: .notFound)

  init(status: HTTPResponse.Status) { self.status = status }

  init(_ json: String, freshFor seconds: Int, whoAsks request: ShopRequest, isPrivate: Bool = false) {
    // FNV-1a, as the tag of one body is the same in each process.
    let hash = json.utf8.reduce(into: UInt64(0xcbf2_9ce4_8422_2325)) { $0 = ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    let tag = "\"\(String(hash, radix: 16))\""
    status = request.tag == tag ? .notModified : .ok
    fields = [
      .contentType: "application/json", .cacheControl: "\(isPrivate ? "private" : "public"), max-age=\(seconds)",
      .eTag: tag,
    ]
    if status == .ok { body = json }
  }
}

/// Settings of a running API, and its count of requests.
public final class ShopDials: Sendable {
  private struct State {
    var delay: Duration = .zero
    var isFailing = false
    var requests = 0
    var prices: [Int: Int] = [:]
  }

  private let state = Mutex(State())

  public init() {}

  /// The requests so far, except requests to the dials themselves.
  public var requests: Int { state.withLock(\.requests) }

  /// Makes the answers slow, for `delay` milliseconds, or turns them into 503.
  public func turn(delay: Int? = nil, isFailing: Bool? = nil) {
    state.withLock { state in
      if let delay { state.delay = .milliseconds(max(0, delay)) }
      if let isFailing { state.isFailing = isFailing }
    }
  }

  /// The changed price of a product, in cents; `nil` for its first one.
  func price(of id: Int) -> Int? { state.withLock { $0.prices[id] } }

  func setPrice(_ cents: Int, of id: Int) { state.withLock { $0.prices[id] = cents } }

  /// Counts a request, and waits for the delay. Returns whether the API is working.
  func answers() async throws -> Bool {
    let (delay, isFailing) = state.withLock { state in
      state.requests += 1
      return (state.delay, state.isFailing)
    }
    if delay > .zero { try await Task.sleep(for: delay) }
    return !isFailing
  }
}
