public import Foundation
public import HTTPTypes
public import ReactorCore
import Synchronization

extension ScriptedTransport.Answer {
  /// A response whose body the test sends piece by piece.
  ///
  /// ```swift
  /// let body = ScriptedBody()
  /// transport.answer("/events", with: .streaming(body))
  /// ```
  ///
  /// `send` waits for the end of the body. A stream counts as in flight until its body has ended or
  /// is released; ``ScriptedTransport/waitUntilIdle()`` waits for that.
  public static func streaming(
    _ body: ScriptedBody, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
  ) -> Self {
    Self(outcome: .stream(HTTPResponse(status: status, headerFields: headers), body))
  }
}

extension ScriptedTransport: StreamingTransport {
  /// Answers the request with its scripted answer, or with the handler's, at the head.
  ///
  /// The body of an answer that is no ``Answer/streaming(_:status:headers:)`` is one piece.
  ///
  /// - Throws: The error of the answer or of the handler; ``Unscripted``, if there is no answer;
  ///   `CancellationError`, as soon as the task is cancelled.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> (HTTPResponse, ResponseBody) {
    let scripted = receive(request, body)
    let end = ScriptedExchange { [self] isCancelled in
      if isCancelled { cancellations.add(1) }
      release()
    }
    do {
      let answer = if let scripted { scripted } else { try await unscripted(request, body) }
      try await pass(answer)
      switch answer.outcome {
      case .failure(let error): throw error
      case .response(let response, let data):
        let whole = ScriptedBody()
        whole.send(answer.cut.map { data.prefix(max($0, 0)) } ?? data)
        if answer.cut == nil { whole.finish() } else { whole.cutShort() }
        return (response, ResponseBody(ScriptedPieces(body: whole, delay: answer.bodyDelay, exchange: end)))
      case .stream(let response, let body):
        return (response, ResponseBody(ScriptedPieces(body: body, delay: answer.bodyDelay, exchange: end)))
      }
    } catch {
      end.reach(isCancelled: Task.isCancelled)
      throw error
    }
  }
}

/// The end of a stream: by its body, or because its reader was cancelled or has left.
private final class ScriptedExchange: Sendable {
  private let onEnd: Mutex<(@Sendable (Bool) -> Void)?>

  init(_ onEnd: @escaping @Sendable (Bool) -> Void) { self.onEnd = Mutex(onEnd) }

  deinit { reach(isCancelled: true) }

  func reach(isCancelled: Bool) { onEnd.withLock { $0.take() }?(isCancelled) }
}

/// The pieces of a scripted body.
private struct ScriptedPieces: AsyncSequence, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  let body: ScriptedBody
  let delay: ScriptedTransport.Answer.Delay?
  let exchange: ScriptedExchange

  func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }

  struct Iterator: AsyncIteratorProtocol {
    let pieces: ScriptedPieces
    var index = 0

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      do {
        if index == 0 { try await pieces.delay?.pass() }
        let event = try await pieces.body.event(at: index)
        index += 1
        switch event {
        case .piece(let data): return ArraySlice(data)
        case .end:
          pieces.exchange.reach(isCancelled: false)
          return nil
        case .loss: throw TransportError.connectionFailed("the scripted body was cut after \(index - 1) pieces")
        }
      } catch {
        pieces.exchange.reach(isCancelled: Task.isCancelled)
        throw error
      }
    }
  }
}
