public import Foundation
import Synchronization

/// Decodes JSON, with the properties and the results of `JSONDecoder`, several times as fast.
///
/// ```swift
/// let decoder = FastJSONDecoder()
/// decoder.keyDecodingStrategy = .convertFromSnakeCase
/// let articles = try decoder.decode([Article].self, from: data)
/// ```
///
/// The whole text is checked by RFC 8259, including the parts that no model reads. If members have
/// the same name, the first counts. At most 512 levels of nesting are read, and 1 GiB of text.
/// UTF-16 and UTF-32 are recognised, as by `JSONDecoder`.
///
/// One decoder may be used by many tasks at once. All decoders of a process share a few sets of
/// buffers, of 8 MiB at most, so that it does not matter how many decoders there are. A decoder or
/// container that a model keeps stays usable, by one task at a time; another task may use it once
/// `decode` has returned.
///
/// With ``allowsJSON5`` or ``assumesTopLevelDictionary``, a `JSONDecoder` does the work.
public final class FastJSONDecoder: Sendable {
  private let strategies = Mutex(Strategies.standard)
  private let sessions: SessionPool

  /// A decoder with `JSONDecoder`'s own defaults.
  public init() { sessions = .shared }

  /// For tests, which examine the sessions.
  init(_ sessions: SessionPool) { self.sessions = sessions }

  /// A decoder with the strategies of `decoder`, as they are now.
  ///
  /// ```swift
  /// let strict = JSONDecoder()
  /// strict.keyDecodingStrategy = .convertFromSnakeCase
  /// strict.dateDecodingStrategy = .iso8601
  /// let decoder = FastJSONDecoder(strict)
  /// ```
  public init(_ decoder: JSONDecoder) {
    sessions = .shared
    change { options in
      options.dates = decoder.dateDecodingStrategy
      options.data = decoder.dataDecodingStrategy
      options.keys = decoder.keyDecodingStrategy
      options.floats = decoder.nonConformingFloatDecodingStrategy
      options.allowsJSON5 = decoder.allowsJSON5
      options.assumesTopLevelDictionary = decoder.assumesTopLevelDictionary
      options.userInfo = decoder.userInfo
    }
  }

  private func change(_ change: (inout Options) -> Void) {
    strategies.withLock { strategies in
      var options = strategies.options
      change(&options)
      strategies = Strategies(options)
    }
  }

  /// Default: `.deferredToDate`.
  public var dateDecodingStrategy: JSONDecoder.DateDecodingStrategy {
    get { strategies.withLock(\.options.dates) }
    set { change { $0.dates = newValue } }
  }

  /// Default: `.base64`.
  public var dataDecodingStrategy: JSONDecoder.DataDecodingStrategy {
    get { strategies.withLock(\.options.data) }
    set { change { $0.data = newValue } }
  }

  /// Default: `.useDefaultKeys`.
  public var keyDecodingStrategy: JSONDecoder.KeyDecodingStrategy {
    get { strategies.withLock(\.options.keys) }
    set { change { $0.keys = newValue } }
  }

  /// Default: `.throw`.
  public var nonConformingFloatDecodingStrategy: JSONDecoder.NonConformingFloatDecodingStrategy {
    get { strategies.withLock(\.options.floats) }
    set { change { $0.floats = newValue } }
  }

  /// Passed to each model's `init(from:)`.
  public var userInfo: [CodingUserInfoKey: any Sendable] {
    get { strategies.withLock(\.options.userInfo) }
    set { change { $0.userInfo = newValue } }
  }

  /// Decodes JSON5, by a `JSONDecoder`.
  public var allowsJSON5: Bool {
    get { strategies.withLock(\.options.allowsJSON5) }
    set { change { $0.allowsJSON5 = newValue } }
  }

  /// Decodes the members of an object whose braces are missing, by a `JSONDecoder`.
  public var assumesTopLevelDictionary: Bool {
    get { strategies.withLock(\.options.assumesTopLevelDictionary) }
    set { change { $0.assumesTopLevelDictionary = newValue } }
  }

  /// Decodes a value of the type, or of a type that inherits from it.
  ///
  /// - Throws: `DecodingError`, with a ``FastJSONError`` as its underlying error, and the errors
  ///   that the model throws.
  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    try decode(from: data) {
      try $0.core.decode(type, $1)
    } foundation: {
      try $0.decode(type, from: data)
    }
  }

  /// The same of a type that is configured.
  public func decode<T: DecodableWithConfiguration>(
    _ type: T.Type, from data: Data, configuration: T.DecodingConfiguration
  ) throws -> T {
    try decode(from: data) {
      try type.init(from: TapeDecoder(session: $0, position: $1), configuration: configuration)
    } foundation: {
      try $0.decode(type, from: data, configuration: configuration)
    }
  }

  /// The same of bytes in another storage than `Data`.
  public func decode<T: Decodable>(_ type: T.Type, from bytes: some ContiguousBytes) throws -> T {
    try bytes.withUnsafeBytes { buffer in
      try decode(from: buffer) {
        try $0.core.decode(type, $1)
      } foundation: {
        try $0.decode(type, from: Data(buffer))
      }
    }
  }

  private func decode<T>(
    from data: Data, _ body: (Session, Position) throws -> T, foundation: (JSONDecoder) throws -> T
  ) throws -> T {
    try data.withUnsafeBytes { try decode(from: $0, body, foundation: foundation) }
  }

  private func decode<T>(
    from bytes: UnsafeRawBufferPointer, _ body: (Session, Position) throws -> T, foundation: (JSONDecoder) throws -> T
  ) throws -> T {
    let strategies = strategies.withLock { $0 }
    if strategies.options.allowsJSON5 || strategies.options.assumesTopLevelDictionary {
      return try foundation(Self.foundationDecoder(strategies.options))
    }
    return try withSession { session in
      do throws(SyntaxFault) {
        try session.begin(bytes, strategies)
      } catch {
        throw error.decodingError
      }
      return try body(session, Position(index: session.core.pointee.tape.root, container: 0))
    }
  }

  /// Parses a text, and passes its contents to the closure.
  ///
  /// The strategies of the decoder apply. A string with half of a surrogate pair cannot be read.
  ///
  /// - Throws: ``SyntaxFault``, and what `body` throws.
  package func withTree<Result>(of data: Data, _ body: (JSONTree) throws -> Result) throws -> Result {
    let strategies = strategies.withLock { $0 }
    return try withSession { session in
      try data.withUnsafeBytes { try session.begin($0, strategies, keepsHalfPairs: true) }
      return try body(JSONTree(session: session))
    }
  }

  private func withSession<Result>(_ body: (Session) throws -> Result) throws -> Result {
    var session = sessions.take()
    defer { sessions.giveBack(&session) }
    return try body(session)
  }

  private static func foundationDecoder(_ options: Options) -> JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = options.dates
    decoder.dataDecodingStrategy = options.data
    decoder.keyDecodingStrategy = options.keys
    decoder.nonConformingFloatDecodingStrategy = options.floats
    decoder.allowsJSON5 = options.allowsJSON5
    decoder.assumesTopLevelDictionary = options.assumesTopLevelDictionary
    decoder.userInfo = options.userInfo
    return decoder
  }
}
