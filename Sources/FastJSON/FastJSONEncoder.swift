public import Foundation
import Synchronization

/// Encodes JSON, with the properties and the bytes of `JSONEncoder`, several times as fast.
///
/// ```swift
/// let encoder = FastJSONEncoder()
/// encoder.outputFormatting = .sortedKeys
/// let data = try encoder.encode(articles)
/// ```
///
/// With `.sortedKeys` the bytes are Foundation's. Without it, Foundation writes the members of an
/// object in a random order; this encoder writes them in the order in which the model encodes them.
///
/// Containers nest at most 511 levels deep, as with `JSONEncoder`, and a text has 1 GiB at most.
///
/// Many tasks can use one encoder at once. All encoders and decoders share a few sets of buffers.
public final class FastJSONEncoder: Sendable {
  private let strategies = Mutex(EncodingStrategies.standard)

  /// An encoder with `JSONEncoder`'s own defaults.
  public init() {}

  /// An encoder with the strategies of `encoder`, as they are now.
  ///
  /// ```swift
  /// let existing = JSONEncoder()
  /// existing.dateEncodingStrategy = .iso8601
  /// let encoder = FastJSONEncoder(existing)
  /// ```
  ///
  /// A subclass of `JSONEncoder` may encode differently: its own methods are not called.
  public init(_ encoder: JSONEncoder) {
    change { options in
      options.formatting = encoder.outputFormatting
      options.dates = encoder.dateEncodingStrategy
      options.data = encoder.dataEncodingStrategy
      options.keys = encoder.keyEncodingStrategy
      options.floats = encoder.nonConformingFloatEncodingStrategy
      options.userInfo = encoder.userInfo
    }
  }

  /// Returns the encoding that `encoder` would do: by an encoder with its strategies, as they are
  /// now, or by `encoder` itself, if it is a subclass or has options that are not known here.
  package static func encoding(as encoder: JSONEncoder) -> @Sendable (any Encodable) throws -> Data {
    let known: JSONEncoder.OutputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard type(of: encoder) == JSONEncoder.self, known.isSuperset(of: encoder.outputFormatting) else {
      return { try encoder.encode($0) }
    }
    let fast = FastJSONEncoder(encoder)
    return { try fast.encode($0) }
  }

  private func change(_ change: (inout EncodingStrategies.Options) -> Void) {
    strategies.withLock { strategies in
      var options = strategies.options
      change(&options)
      strategies = EncodingStrategies(options)
    }
  }

  /// Default: none. Options that this encoder does not know have no effect.
  public var outputFormatting: JSONEncoder.OutputFormatting {
    get { strategies.withLock(\.options.formatting) }
    set { change { $0.formatting = newValue } }
  }

  /// Default: `.deferredToDate`.
  public var dateEncodingStrategy: JSONEncoder.DateEncodingStrategy {
    get { strategies.withLock(\.options.dates) }
    set { change { $0.dates = newValue } }
  }

  /// Default: `.base64`.
  public var dataEncodingStrategy: JSONEncoder.DataEncodingStrategy {
    get { strategies.withLock(\.options.data) }
    set { change { $0.data = newValue } }
  }

  /// Default: `.useDefaultKeys`.
  public var keyEncodingStrategy: JSONEncoder.KeyEncodingStrategy {
    get { strategies.withLock(\.options.keys) }
    set { change { $0.keys = newValue } }
  }

  /// Default: `.throw`.
  public var nonConformingFloatEncodingStrategy: JSONEncoder.NonConformingFloatEncodingStrategy {
    get { strategies.withLock(\.options.floats) }
    set { change { $0.floats = newValue } }
  }

  /// Passed to each model's `encode(to:)`.
  public var userInfo: [CodingUserInfoKey: any Sendable] {
    get { strategies.withLock(\.options.userInfo) }
    set { change { $0.userInfo = newValue } }
  }

  /// Encodes a value.
  ///
  /// - Throws: `EncodingError`, and the errors that the model throws.
  public func encode<T: Encodable>(_ value: T) throws -> Data {
    try encode(value) { try $0.encode(value, in: 0) }
  }

  /// Encodes a value of a type that is configured.
  ///
  /// - Throws: `EncodingError`, and the errors that the model throws.
  public func encode<T: EncodableWithConfiguration>(
    _ value: T, configuration: T.EncodingConfiguration
  ) throws -> Data {
    try encode(value) { try value.encode(to: ValueEncoder(session: $0.session, node: 0), configuration: configuration) }
  }

  private func encode<T>(_ value: T, _ body: (CorePointer) throws -> Void) throws -> Data {
    var session = SessionPool.shared.take()
    defer { SessionPool.shared.giveBack(&session) }
    let core = session.core
    core.pointee.encoded.begin(strategies.withLock { $0 })
    do { try body(core) } catch {
      // A fault ends the calls by errors, which the model may pass on.
      guard core.pointee.encoded.fault != nil else { throw error }
    }
    if let fault = core.pointee.encoded.fault {
      throw EncodingError.invalidValue(value, EncodingError.Context(codingPath: [], debugDescription: fault))
    }
    guard core.pointee.encoded.nodes[0].kind != .empty else {
      throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: [], debugDescription: "Top-level \(T.self) did not encode any values.")
      )
    }
    return core.pointee.encoded.text()
  }
}

/// The strategies of one call: a reference, since each call has them.
final class EncodingStrategies: Sendable {
  struct Options: Sendable {
    var formatting: JSONEncoder.OutputFormatting = []
    var dates = JSONEncoder.DateEncodingStrategy.deferredToDate
    var data = JSONEncoder.DataEncodingStrategy.base64
    var keys = JSONEncoder.KeyEncodingStrategy.useDefaultKeys
    var floats = JSONEncoder.NonConformingFloatEncodingStrategy.throw
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]
  }

  let options: Options

  init(_ options: Options) { self.options = options }

  /// The options of an unconfigured `JSONEncoder`.
  static let standard = EncodingStrategies(Options())
}
