import Foundation
public import ReactorCore
import ReactorTesting
public import Testing

/// A conformance suite for implementations of `Transport`.
///
/// ```swift
/// @Test(.timeLimit(.minutes(2))) func `my transport keeps the contract`() async {
///   await TransportConformance { MyTransport(timeout: $0.timeout, clock: $0.clock) }.run()
/// }
/// ```
///
/// The suite runs a server on the loopback interface, with its own sockets. The server hangs up,
/// resets, sends bytes one by one, and announces more than it sends. A violated promise is recorded
/// as an issue with its name, at the caller's line.
///
/// The other checks still run, even after a check that does not end within a minute. Pass an
/// ``Exception`` for each promise that the platform cannot keep. The suite leaves out the messages
/// that end the process of a known platform.
public struct TransportConformance: Sendable {
  private let exceptions: Set<Exception>
  private let make: @Sendable (Settings) -> any Transport

  /// Creates a suite.
  ///
  /// - Parameters:
  ///   - exceptions: The abilities that the transport lacks. If there is an alternative behaviour,
  ///     the suite checks that instead.
  ///   - make: Returns a new transport. It is called for each check.
  public init(except exceptions: Set<Exception> = [], _ make: @escaping @Sendable (Settings) -> any Transport) {
    self.exceptions = exceptions
    self.make = make
  }

  /// Runs every check, one after the other.
  public func run(sourceLocation: SourceLocation = #_sourceLocation) async {
    for check in Check.all where check.exception.map(exceptions.contains) != true {
      do {
        let subject = Subject(make: make, exceptions: exceptions, check: check.name, location: sourceLocation)
        try await subject.run(check.body)
      } catch {
        Issue.record("\(check.name): threw \(error)", sourceLocation: sourceLocation)
      }
    }
  }
}

extension TransportConformance {
  /// The settings of a transport for one check.
  public struct Settings: Sendable {
    /// The maximum duration of one exchange as a whole. Default: 60 seconds.
    public var timeout: Duration = .seconds(60)
    /// The clock that measures ``timeout``. Default: `ContinuousClock`.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// The maximum size of the decoded body in bytes. Default: 64 MiB.
    public var maximumResponseSize = 64 << 20
    /// The maximum number of redirects to follow; zero follows none. Default: 20.
    public var maximumRedirects = 20
  }

  /// An ability that a transport may lack, because of its platform or by design.
  @nonexhaustive public enum Exception: String, Sendable, Hashable, CaseIterable {
    /// Keeping fields of one name apart. `URLSession` joins them with commas, including
    /// `Set-Cookie`, and sorts them.
    case fieldsApart
    /// Keeping fields whose names differ only in case. `URLSession` on Linux keeps the last one.
    case fieldsInAnyCase
    /// Accepting a field without a space after its colon. `URLSession` on Linux fails.
    case fieldsWithoutSpace
    /// Connecting to a host that is an IPv6 address. `URLSession` on Linux does not.
    case addressesOfIPv6
    /// Detecting that a compressed body ends early although its announced length matches.
    /// `URLSession` on Linux does not.
    case compressedBodyCutShort
    /// Returning the body of a redirect without a valid target. `URLSession` on Linux drops it.
    case bodyOfAimlessRedirect
    /// Sending a body with GET. `URLSession` cannot.
    case bodyWithGET
    /// Following redirects and limiting their number. Some transports leave redirects to their
    /// client.
    case redirects
    /// Limiting the size of a response.
    case sizeLimit
    /// Measuring the timeout by the clock of ``Settings``.
    case injectedClock
    /// Decoding gzip and deflate.
    case contentCodings
    /// Reporting progress.
    case progress
    /// Making the server of a stream wait while its reader does not read. With `URLSession`, the
    /// stream fails instead, with `TransportError.tooManyUnread(limit:request:)`.
    case slowReaders
  }

  /// A promise of the contract, and its check.
  struct Check: Sendable {
    let name: String
    /// The exception that omits this check.
    let exception: Exception?
    let body: @Sendable (Subject) async throws -> Void

    init(
      _ name: String, unless exception: Exception? = nil, _ body: @escaping @Sendable (Subject) async throws -> Void
    ) {
      self.name = name
      self.exception = exception
      self.body = body
    }

    static var all: [Check] {
      answers + codings + brokenAnswers + framing + limits + redirects + requests + progress + endings + load + streams
        + streamEndings
    }
  }
}
