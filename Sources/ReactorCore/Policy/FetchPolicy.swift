/// Which copy answers a fetch, and when the network is asked.
///
/// | policy | fresh copy | stale copy | no copy | the network fails |
/// | --- | --- | --- | --- | --- |
/// | `cacheFirst` | return | ask | ask | the stale value within `staleIfError`, else the error |
/// | `networkOnly` | ask, with validators | ask | ask | the error |
/// | `networkFirst` | ask | ask | ask | any stored value, else the error |
/// | `cacheOnly` | return | return | ``ReactorError/notCached`` | – |
/// | `staleWhileRevalidate` | return, no request | return now, one request in the background | ask | an event only; with no copy, the error |
public enum FetchPolicy: Sendable, Hashable, CaseIterable {
  case cacheFirst, networkOnly, networkFirst, cacheOnly, staleWhileRevalidate
}
