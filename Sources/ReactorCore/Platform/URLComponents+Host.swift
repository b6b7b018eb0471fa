import Foundation

extension URLComponents {
  /// The host as it stands in the URL, with brackets around an IPv6 address.
  var encodedHost: String? { encodedHostValue.flatMap { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 } }

  private var encodedHostValue: String? { percentEncodedHost ?? host }
}
