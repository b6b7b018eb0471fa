import Foundation

extension [Double] {
  var median: Double { quantile(0.5) }

  /// Interpolated if it falls between two values; not a number for an empty array.
  func quantile(_ part: Double) -> Double {
    let sorted = sorted()
    guard let last = sorted.indices.last else { return .nan }
    let place = part * Double(last)
    let (below, above) = (sorted[Int(place.rounded(.down))], sorted[Int(place.rounded(.up))])
    return below + (above - below) * (place - place.rounded(.down))
  }
}

/// The exponent of a curve: the slope of the straight line through its points on logarithmic axes,
/// by least squares.
///
/// - Parameter points: of positive numbers.
func fittedExponent(_ points: some Collection<(x: Double, y: Double)>) -> Double {
  let logs = points.map { (x: log($0.x), y: log($0.y)) }
  let count = Double(logs.count)
  let (meanX, meanY) = (logs.reduce(0) { $0 + $1.x } / count, logs.reduce(0) { $0 + $1.y } / count)
  let covariance = logs.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) }
  let variance = logs.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
  return covariance / variance
}
