import Foundation
public import ReactorCore
public import Testing

/// The suite that every `Transport` passes; for whoever writes one.
///
/// ```swift
/// @Test(.timeLimit(.minutes(2))) func `my transport keeps the contract`() async {
///   await TransportConformance { MyTransport(timeout: $0.timeout, clock: $0.clock) }.run()
/// }
/// ```
///
/// It talks to a server on this machine's loopback interface, over sockets of its own, that misbehaves in every way it knows: it hangs
/// up, resets, drips, announces what it does not send. A broken promise is recorded as an issue that names it, at the line of the
/// caller; the other checks still run, also after one that does not end within a minute. What a platform makes impossible is excepted by its name.
public struct TransportConformance: Sendable {
  private let exceptions: Set<Exception>
  private let make: @Sendable (Settings) -> any Transport

  /// - Parameters:
  ///   - exceptions: what the transport cannot do. Where there is another behaviour to expect, that is checked instead.
  ///   - make: called for each check; gives a new transport.
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
  /// How a transport is made for a check.
  public struct Settings: Sendable {
    /// How long one exchange may take as a whole.
    public var timeout: Duration = .seconds(60)
    /// By which `timeout` is measured.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// In bytes of the decoded body.
    public var maximumResponseSize = 64 << 20
    /// Zero: none is followed.
    public var maximumRedirects = 20
  }

  /// What a transport may be unable to do, by its platform's fault or by its own design.
  @nonexhaustive public enum Exception: String, Sendable, Hashable, CaseIterable {
    /// To report a server that hangs up in the middle of its header. `URLSession` on Linux ends the process there.
    case headerCutShort
    /// To take fields after the last chunk of a body. `URLSession` on Linux ends the process there.
    case trailers
    /// To keep apart fields of one name. `URLSession` joins them by commas, `Set-Cookie` included, and sorts them.
    case fieldsApart
    /// To keep fields whose names differ in case alone. `URLSession` on Linux keeps the last of them.
    case fieldsInAnyCase
    /// To take a field with no space after its colon. `URLSession` on Linux fails there.
    case fieldsWithoutSpace
    /// To talk to a host that is named by its IPv6 address. `URLSession` on Linux does not.
    case addressesOfIPv6
    /// To notice that a compressed body ends too early, where its announced length says otherwise. `URLSession` on Linux does not.
    case compressedBodyCutShort
    /// To give the body of a redirect that names no place to go. `URLSession` on Linux drops it.
    case bodyOfAimlessRedirect
    /// To send a body with GET. `URLSession` has no way to.
    case bodyWithGET
    /// To limit redirects, or to follow any: they are somebody else's.
    case redirects
    /// To limit the size of a response.
    case sizeLimit
    /// To measure the timeout by the clock of ``Settings``.
    case injectedClock
    /// To decode gzip and deflate.
    case contentCodings
    /// To report progress.
    case progress
  }

  /// A promise of the contract, and how it is checked.
  struct Check: Sendable {
    let name: String
    /// With which it is left out.
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
      answers + codings + brokenAnswers + framing + limits + redirects + requests + progress + endings + load
    }
  }
}
