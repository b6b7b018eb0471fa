public import Foundation

/// The behaviour of a reactor. Every property has a default that suits an app; the surprising ones
/// are on the page <doc:ImportantDefaults>.
///
/// ```swift
/// var configuration = ReactorConfiguration()
/// configuration.freshFor = .seconds(60)
/// let layer = ModelLayer(baseURL: api, configuration: configuration)
/// ```
public struct ReactorConfiguration: Sendable {
  // MARK: Freshness

  /// The time for which a cached value is fresh, if neither the resource nor the server says.
  /// Default: 5 minutes.
  ///
  /// With zero, a value is stale at once, and concurrent fetches still share a request. With
  /// `Duration.never`, it never becomes stale.
  public var freshFor: Duration = .seconds(300)

  /// The time for which a stale value may be returned when the network fails (RFC 5861 §4).
  /// Default: zero.
  ///
  /// ```swift
  /// configuration.staleIfError = .seconds(7 * 86_400)
  /// ```
  ///
  /// The server's `stale-if-error` takes precedence.
  public var staleIfError: Duration = .zero

  /// The time that a fetch waits for the server before it returns the stale value that it would
  /// return if the request failed (RFC 9111 §4.2.4). Default: `nil`, as long as the request takes.
  ///
  /// ```swift
  /// configuration.staleAfter = .seconds(2)
  /// ```
  ///
  /// The request continues, and its response is stored. This applies to ``FetchPolicy/cacheFirst``
  /// within ``staleIfError``, and to ``FetchPolicy/networkFirst``. An event reports
  /// ``ReactorEvent/Kind/servedStale``. Zero or less waits only for the stored value.
  public var staleAfter: Duration?

  /// A Boolean value that indicates whether open streams fetch again when their value becomes
  /// stale. Default: `false`.
  ///
  /// ```swift
  /// configuration.freshFor = .seconds(30)
  /// configuration.revalidatesWhenStale = true  // open screens are at most 30 seconds behind
  /// ```
  ///
  /// All streams of a value share one request. If it fails, the next invalidation or reconnection
  /// tries again. ``FetchPolicy/cacheOnly`` never fetches.
  public var revalidatesWhenStale: Bool = false

  /// A Boolean value that indicates whether a 404 or 410 removes the stored value. Default: `true`.
  ///
  /// The status is the server's newer answer: the value leaves memory and disk, and streams show
  /// the error without it. A value that ``Reactor/save(_:for:)`` has written stays, and so do
  /// pending drafts. With `false`, the value stays stored as after any other failure.
  public var removesGoneValues: Bool = true

  // MARK: Memory and persistence

  /// The time after its last use at which an unobserved model is evicted from memory. Default: 5
  /// minutes.
  ///
  /// ```swift
  /// configuration.keepUnusedFor = .never  // until the limit of memory is reached
  /// ```
  ///
  /// A model that was read again since it was stored may stay for up to twice as long.
  public var keepUnusedFor: Duration = .seconds(300)

  /// The limit of the memory. Default: 1,000 models or 64 MiB of payload.
  ///
  /// ```swift
  /// configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 100, bytes: 4 << 20)
  /// ```
  public var memoryLimit: MemoryLimit = MemoryLimit()

  /// The source of memory warnings, at which models without an observer leave memory. Default: the
  /// system's on Apple platforms, and none elsewhere.
  ///
  /// On Linux, ReactorOperators has `CgroupMemoryPressure` for a program in a container. `nil`
  /// ignores memory pressure; see ``ModelLayer/evictUnused()``.
  public var memoryPressure: (any MemoryPressure)? = systemMemoryPressure

  /// The part that a save has in a fetch. Default: ``Saving/awaited``.
  ///
  /// ```swift
  /// configuration.saving = .required  // a fetch succeeds only if its record is on disk
  /// ```
  ///
  /// ``Reactor/save(_:for:)`` always waits, and throws the error of a failed save only with
  /// ``Saving/required``. Otherwise an event reports the failure. In Reactor 1.x, the default was
  /// ``Saving/required``.
  public var saving: Saving = .awaited

  /// The time that a fetch waits for the persistence. Default: `nil`, which is 5 seconds with a
  /// `ContinuousClock`, and no limit with any other ``clock``: in a test, only the code under test
  /// sleeps.
  ///
  /// A record that is not loaded by then counts as missing, and a fetch whose record is not saved
  /// by then returns its answer while the save continues. Events report both
  /// (``ReactorEvent/Kind/loadFailed(_:)``, ``ReactorEvent/Kind/saveIsLate(after:)``). With
  /// ``Saving/required``, the fetch fails instead. While the persistence has yet to answer,
  /// other fetches of the resource do not wait for it. ``Reactor/save(_:for:)`` and removals always
  /// wait. A caller on no actor reads a file on its own thread, and waits for that itself. With
  /// `Duration.never`, there is no limit.
  public var persistenceBudget: Duration?

  /// The names of secret query items; case does not matter. Default:
  /// `HTTPCache.defaultSecretQueryItems`.
  ///
  /// ```swift
  /// configuration.secretQueryItems.insert("session")
  /// ```
  ///
  /// Their values appear in no key, event or description. In a record, the URL and the fields
  /// `Location`, `Content-Location`, `Link` and `Refresh` hold digests instead. The page
  /// <doc:Secrets> says where secrets are looked for.
  public var secretQueryItems: Set<String> = HTTPCache.defaultSecretQueryItems

  // MARK: Requests and models

  /// A Boolean value that indicates whether connectivity is checked before a request. Default:
  /// `true`.
  ///
  /// Requests to a loopback host are never checked.
  public var checksReachability: Bool = true

  /// A Boolean value that indicates whether an outage of the server is remembered. Default: `true`.
  ///
  /// After a transient failure, such as a refused connection or the status 503, and its retries,
  /// callers get their stale fallback at once. One request at a time, without retries, checks
  /// whether the server is back, with exponential backoff from one second to 30 seconds. A caller
  /// without a fallback gets the error for a second, and then sends a request.
  /// ``FetchPolicy/networkOnly`` always sends one.
  ///
  /// A failed connection is an outage of the server. A status or a timeout is one of the resource,
  /// and five in a row are one of the server. Events report its beginning and its end.
  public var remembersOutages: Bool = true

  /// The policy for retrying failed requests. Default: ``RetryPolicy``'s, which is two more
  /// attempts, after half a second or so.
  ///
  /// ```swift
  /// configuration.retry = .never
  /// ```
  ///
  /// A custom network step is not retried.
  public var retry: RetryPolicy = RetryPolicy()

  /// The decision on a failed attempt, in place of the policy's own list of transient failures.
  /// Default: `nil`, that list.
  ///
  /// ```swift
  /// configuration.shouldRetry = { $0.isTransient && $0.status != .serviceUnavailable }
  /// ```
  ///
  /// It is called before each retry that ``retry`` has left, only for requests that are
  /// safe to repeat. It must be quick, and runs on the executor of the request.
  public var shouldRetry: (@Sendable (RetryPolicy.FailedAttempt) -> Bool)?

  /// The rule for polling while the system saves power. Default: intervals are four times as long.
  ///
  /// ```swift
  /// configuration.lowPower.pollingFactor = 10
  /// ```
  public var lowPower: LowPower = LowPower()

  /// The treatment of an array's malformed elements. Default: ``ParsingMode/prune``.
  ///
  /// ```swift
  /// configuration.parsing = .strict  // one malformed element fails the fetch
  /// ```
  public var parsing: ParsingMode = .prune

  /// The decoder for `Codable` models, in reactors without their own parser. Default: a new
  /// `JSONDecoder`.
  ///
  /// ```swift
  /// configuration.decoder.dateDecodingStrategy = .iso8601
  /// ```
  ///
  /// A `FastJSONDecoder` with its strategies decodes the models; see
  /// ``Parser/json(keyPath:decoder:encoder:mode:)`` for the exceptions. Set it up before you assign
  /// it, and do not change it afterwards: reactors share it.
  public var decoder = JSONDecoder()

  /// The encoder for `Codable` models that are saved locally, in reactors without their own parser.
  /// Default: a new `JSONEncoder`.
  ///
  /// ```swift
  /// configuration.encoder = JSONEncoder()
  /// configuration.encoder.dateEncodingStrategy = .iso8601
  /// ```
  ///
  /// It must write what ``decoder`` reads. The body of a ``Resource`` has a separate encoder.
  public var encoder = JSONEncoder()

  // MARK: Clocks, executor and instrument

  /// The clock behind every wait: eviction, polling, retries, and waits inside a flow's steps.
  /// Default: `ContinuousClock`.
  ///
  /// ```swift
  /// let clock = TestClock()
  /// configuration.clock = clock
  /// configuration.now = clock.wallClock
  /// ```
  public var clock: any Clock<Duration> = ContinuousClock()

  /// The wall clock, which decides freshness. Default: `Date()`.
  public var now: @Sendable () -> Date = { Date() }

  /// The executor of flights. Default: `nil`, the global executor. A simulation sets its own.
  public var taskExecutor: (any TaskExecutor)?

  /// An object that sees the work of the layer, for traces and metrics. Default: `nil`.
  ///
  /// ```swift
  /// configuration.instrument = Observability(logger: logger)
  /// ```
  public var instrument: (any ModelLayer.Instrument)?

  /// Creates a configuration with all defaults.
  public init() {}
}
