import Foundation

extension Duration {
  var milliseconds: Double { Double(components.seconds) * 1e3 + Double(components.attoseconds) / 1e15 }
}

extension Date {
  /// Milliseconds since 1970.
  var milliseconds: Double { timeIntervalSince1970 * 1e3 }
}

extension Double {
  /// Returns the value rounded to one decimal place, which keeps frames small. An infinite value
  /// becomes 0, since JSON cannot represent it.
  func rounded(toTenths: Void) -> Double { isFinite ? (self * 10).rounded() / 10 : 0 }
}
