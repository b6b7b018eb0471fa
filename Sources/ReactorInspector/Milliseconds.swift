import Foundation

extension Duration {
  var milliseconds: Double { Double(components.seconds) * 1e3 + Double(components.attoseconds) / 1e15 }
}

extension Date {
  /// Since 1970.
  var milliseconds: Double { timeIntervalSince1970 * 1e3 }
}

extension Double {
  /// JSON holds no infinity; and digits that nobody sees are only sent.
  func rounded(toTenths: Void) -> Double { isFinite ? (self * 10).rounded() / 10 : 0 }
}
