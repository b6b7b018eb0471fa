import Foundation
import NewsClient
import ReactorCore

/// A `LoadState` for the page.
struct StateMessage<Value: Encodable>: Encodable {
  var screen: String
  /// `loading`, `loaded` or `failed`.
  var phase: String
  var value: Value?
  /// The same number: the same value.
  var revision: UInt64
  var error: String?
  /// The network failed or is unreachable: the shown value is the last known one.
  var isOffline: Bool
  /// `idle`, `fetching` or `paused`.
  var fetchStatus: String
  var origin: String?
  var fetchedAt: Date?
  var isStale: Bool
  /// The value belongs to the previous search.
  var isPlaceholder: Bool
  /// Of the request under way, 0 to 1.
  var progress: Double?

  init(_ state: LoadState<Value>, of screen: String) {
    self.screen = screen
    phase =
      switch state.phase {
      case .loading: "loading"
      case .loaded: "loaded"
      case .failed: "failed"
      }
    value = state.value
    revision = state.valueRevision
    error = state.error.map(ErrorText.of)
    isOffline = state.fetchStatus == .paused || state.error.map(ErrorText.isOffline) ?? false
    fetchStatus = "\(state.fetchStatus)"
    origin = state.origin.map { "\($0)" }
    fetchedAt = state.fetchedAt
    isStale = state.isStale
    isPlaceholder = state.isPlaceholder
    progress = state.progress?.fractionCompleted
  }
}

/// The text of an error, for a person.
enum ErrorText {
  static func of(_ error: any Error) -> String {
    switch error as? ReactorError {
    case .noConnectivity: "There is no connection."
    case .timedOut: "The news took too long to answer."
    case .authentication: "Your session is over. Sign in again."
    case .network: "The news cannot be reached."
    case .server(let response, _) where response.status == .notFound: "There is nothing here."
    case .server(let response, _) where response.status == .unauthorized: "Sign in to see this."
    case .server: "The news is out of order."
    default: "Something went wrong."
    }
  }

  /// Returns true if the API could not be reached. An API that refused is not offline.
  static func isOffline(_ error: ReactorError) -> Bool {
    switch error {
    case .noConnectivity, .timedOut, .network: true
    case .server(let response, _): response.status.kind == .serverError
    default: false
    }
  }
}
