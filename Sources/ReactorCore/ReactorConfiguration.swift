public import Foundation

/// How a reactor behaves. Every field has a default that suits an app; the few that surprise are on the page
/// <doc:ImportantDefaults>.
public struct ReactorConfiguration: Sendable {
  /// How long a copy counts as fresh where neither the resource nor the server says. Default: 5 minutes.
  /// Zero: always stale, and still coalesced. `Duration.never`: never stale.
  public var freshFor: Duration = .seconds(300)

  /// When a model that nobody observes leaves memory, counted from its last use. Default: 5 minutes.
  ///
  /// A model that was read again since it was stored may stay for up to as long again.
  public var keepUnusedFor: Duration = .seconds(300)

  /// How long after it became stale a copy may stand in when the network fails (RFC 5861 §4). Default: zero.
  /// What the server's `stale-if-error` says goes before.
  public var staleIfError: Duration = .zero

  /// A Boolean value that indicates whether open streams request a value anew when it becomes
  /// stale. Default: `false`. One request, however many watch; where it fails, the next
  /// invalidation or reconnection asks again. ``FetchPolicy/cacheOnly`` never asks.
  public var revalidatesWhenStale: Bool = false

  /// By how much intervals of polling are stretched while power is saved. Default: 4. From 1 to 1,000; what is outside counts as
  /// the nearer end.
  public var pollingFactorInLowPower: Int = 4

  /// A Boolean value that indicates whether power is to be saved; followed only while somebody
  /// polls. Default: what the system says.
  public var powerSaving: any PowerSaving = SystemPowerSaving()

  /// A Boolean value that indicates whether a fetch returns only when its record is saved. Default:
  /// `true`.
  public var waitsForSave: Bool = true

  /// A Boolean value that indicates whether a fetch whose record cannot be saved fails with
  /// ``ReactorError/persistence(_:)``. Default: `false`: it succeeds, and the failure is an event.
  /// (Reactor 1.x: `true`.) Needs ``waitsForSave``.
  public var failsWhenSaveFails: Bool = false

  /// A Boolean value that indicates whether connectivity is looked at before a request. Default:
  /// `true`. A loopback host is never asked about.
  public var checksReachability: Bool = true

  /// How often a request that failed is sent again. Default: ``RetryPolicy``'s, two more attempts after half a second or so. A network
  /// step of one's own is not retried.
  public var retry: RetryPolicy = RetryPolicy()

  /// The treatment of an array's malformed elements. Default: ``ParsingMode/prune``.
  public var parsing: ParsingMode = .prune

  /// Decodes `Codable` models where a reactor has no parser of its own. Default: a `JSONDecoder` as it comes.
  ///
  /// Its strategies count; a `FastJSONDecoder` does the work (``Parser/json(keyPath:decoder:encoder:mode:)``).
  /// Set it up before it is put here, and change it no more: reactors share it.
  public var decoder = JSONDecoder()

  /// Encodes `Codable` models that are saved locally, where a reactor has no parser of its own. It must write what
  /// ``decoder`` reads. Default: a `JSONEncoder` as it comes. The body of a ``Resource`` has an encoder of its own.
  public var encoder = JSONEncoder()

  /// How much is kept in memory. Default: 1,000 models or 64 MiB of payload.
  public var memoryLimit: MemoryLimit = MemoryLimit()

  /// The names of query items that are secret, without regard to case. Default: `HTTPCache.defaultSecretQueryItems`.
  ///
  /// No key, event or description holds their values, and no record does in its URL, `Location`, `Content-Location`, `Link`
  /// and `Refresh`. The page <doc:Secrets> says where they are found.
  public var secretQueryItems: Set<String> = HTTPCache.defaultSecretQueryItems

  /// What waits: for eviction, polling, a retry and, where a step waits, for that. Default: `ContinuousClock`.
  public var clock: any Clock<Duration> = ContinuousClock()

  /// The wall clock, by which freshness is judged. Default: `Date()`.
  public var now: @Sendable () -> Date = { Date() }

  /// Where flights run. Default: `nil`, the global executor. A simulation gives its own.
  public var taskExecutor: (any TaskExecutor)?

  public init() {}
}
