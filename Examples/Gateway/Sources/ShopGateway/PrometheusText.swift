public import CoreMetrics
import Synchronization

/// Metrics for a Prometheus server that reads them as text (exposition format 0.0.4).
///
/// It does only what this example needs. Your own service would use swift-prometheus or swift-otel.
public final class PrometheusText: MetricsFactory {
  private struct Name: Hashable, Comparable {
    var label: String
    var dimensions: String

    static func < (a: Self, b: Self) -> Bool { (a.label, a.dimensions) < (b.label, b.dimensions) }
  }

  private let series = Mutex<[Name: Series]>([:])

  public init() {}

  /// All metrics, in the order of their names.
  public var text: String {
    let series = series.withLock { $0 }
    var (lines, last) = ([String](), "")
    for (name, one) in series.sorted(by: { $0.key < $1.key }) {
      if name.label != last { lines.append("# TYPE \(name.label) \(one.kind.rawValue)") }
      last = name.label
      lines += one.lines(name.label, name.dimensions)
    }
    return lines.joined(separator: "\n") + "\n"
  }

  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    made(label + "_total", dimensions, .counter)
  }

  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler { made(label + "_total", dimensions, .counter) }

  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    made(label, dimensions, .gauge)
  }

  public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    made(label, dimensions, aggregate ? .histogram : .gauge)
  }

  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    made(label + "_seconds", dimensions, .histogram)
  }

  public func destroyCounter(_ handler: any CounterHandler) {}
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
  public func destroyMeter(_ handler: any MeterHandler) {}
  public func destroyRecorder(_ handler: any RecorderHandler) {}
  public func destroyTimer(_ handler: any TimerHandler) {}

  private func made(_ label: String, _ dimensions: [(String, String)], _ kind: Series.Kind) -> Series {
    let name = Name(
      label: Self.name(label),
      dimensions: dimensions.map { "\(Self.name($0.0))=\"\(Self.escaped($0.1))\"" }.joined(separator: ","))
    return series.withLock { series in
      if let known = series[name] { return known }
      let new = Series(kind)
      series[name] = new
      return new
    }
  }

  private static func name(_ text: String) -> String {
    String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }

  private static func escaped(_ text: String) -> String {
    text.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\")
      .split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
      .split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n")
  }
}

/// A metric with its dimensions.
private final class Series: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
  enum Kind: String { case counter, gauge, histogram }

  private struct State {
    var value = 0.0
    var count = 0
    var buckets = [Int](repeating: 0, count: Series.bounds.count)
  }

  /// The bounds that OpenTelemetry advises for durations of HTTP requests, in seconds.
  static let bounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

  let kind: Kind
  private let state = Mutex(State())

  init(_ kind: Kind) { self.kind = kind }

  func increment(by amount: Int64) { increment(by: Double(amount)) }
  func increment(by amount: Double) { state.withLock { $0.value += amount } }
  func decrement(by amount: Double) { increment(by: -amount) }
  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { state.withLock { $0.value = value } }
  func record(_ value: Int64) { record(Double(value)) }
  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
  func reset() { state.withLock { $0 = State() } }

  func record(_ value: Double) {
    state.withLock { state in
      guard kind == .histogram else { return state.value = value }
      state.value += value
      state.count += 1
      if let index = Self.bounds.firstIndex(where: { value <= $0 }) { state.buckets[index] += 1 }
    }
  }

  func lines(_ label: String, _ dimensions: String) -> [String] {
    let state = state.withLock { $0 }
    let braces = dimensions.isEmpty ? "" : "{\(dimensions)}"
    guard kind == .histogram else { return ["\(label)\(braces) \(state.value)"] }
    let comma = dimensions.isEmpty ? "" : ","
    var (sum, lines) = (0, [String]())
    for (bound, count) in zip(Self.bounds, state.buckets) {
      sum += count
      lines.append("\(label)_bucket{\(dimensions)\(comma)le=\"\(bound)\"} \(sum)")
    }
    lines.append("\(label)_bucket{\(dimensions)\(comma)le=\"+Inf\"} \(state.count)")
    return lines + ["\(label)_sum\(braces) \(state.value)", "\(label)_count\(braces) \(state.count)"]
  }
}
