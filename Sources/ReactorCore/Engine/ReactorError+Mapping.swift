import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ReactorError {
  /// What a step threw, as ours: a ``ReactorError`` passes, a cancellation is ``cancelled``, and the rest is wrapped.
  ///
  /// - Parameter wrap: ``network(_:)`` or ``persistence(_:)``, for an error that says nothing more precise.
  init(_ error: any Error, wrap: (any Error) -> ReactorError) {
    self =
      switch error {
      case let error as ReactorError: error
      case is CancellationError: .cancelled
      case let error as ParserError: .parser(error)
      case let error as URLError where error.code == .cancelled: .cancelled
      case let error as URLError where error.code == .timedOut: .timedOut
      default: wrap(error)
      }
  }
}
