import Foundation

/// The steps of a fetch beneath the typed surface. Only the reactor and the parser know the type of
/// the models.
package struct FlowSteps: Sendable {
  typealias Network = @Sendable (Resource, FlowContext) async throws -> Snapshot<AnyModel>
  typealias Load = @Sendable (Resource) async throws -> Snapshot<AnyModel>?
  typealias Save = @Sendable (Snapshot<AnyModel>, Resource) async throws -> Void

  var network: Network
  var loadFromPersistence: Load
  var saveToPersistence: Save
  var removeFromPersistence: @Sendable (Resource) async throws -> Void
  package var configuration: ReactorConfiguration
  /// The state shared with the other reactors of a layer. A flow of closures has its own layer.
  let layer: LayerContext
  /// A Boolean value that indicates whether ``saveToPersistence`` saves at all.
  var isPersistent: Bool
  /// Marks the persisted record stale.
  var invalidateInPersistence: @Sendable (RecordKey, Date) async throws -> Void = { _, _ in }
  /// Returns `true` if the persistence may hold a value that the server has sent.
  var holdsAnswer: @Sendable (Resource) async throws -> Bool = { _ in true }
  /// Parses an exchange that no step has requested; `nil` if the network step is the program's own.
  var parseRecord: (@Sendable (Record, RecordKey) throws -> Snapshot<AnyModel>)?
  /// Returns the record whose validators are sent; `nil` if the network step reads it itself, or
  /// nothing is persisted.
  var storedRecord: (@Sendable (Resource) async throws -> Record?)?
  /// A Boolean value that indicates whether ``loadFromPersistence`` may run on the caller's thread.
  var loadsAtOnce = false
  /// Finds models in memory, so that the steps need not parse their bytes again. Replacing a step
  /// disconnects it, since the new step may parse the bytes differently.
  var decoded = DecodedModelLookup()
  /// The presentation of the models; `nil` if the type has none.
  package internal(set) var presentation: (any ModelPresentation)?

  init(
    layer: LayerContext, configuration: ReactorConfiguration, isPersistent: Bool, network: @escaping Network,
    loadFromPersistence: @escaping Load, saveToPersistence: @escaping Save,
    removeFromPersistence: @escaping @Sendable (Resource) async throws -> Void
  ) {
    (self.layer, self.configuration, self.isPersistent) = (layer, configuration, isPersistent)
    self.network = network
    self.loadFromPersistence = loadFromPersistence
    self.saveToPersistence = saveToPersistence
    self.removeFromPersistence = removeFromPersistence
  }

  /// Returns the key of `resource`. Without a base URL, the path is used in its place.
  package func key(_ resource: Resource) throws(ReactorError) -> RecordKey {
    try layer.keys.key(resource, secretQueryItems: configuration.secretQueryItems)
  }

  /// A Boolean value that indicates whether there is connectivity, or it is not checked.
  package var isReachable: Bool { layer.isReachable(configuration) }
}

/// The input of a network step, beside the resource.
struct FlowContext: Sendable {
  /// The stored copy, fresh or stale; `nil` if nothing is stored.
  var stale: Snapshot<AnyModel>? {
    get { copy?.snapshot }
    set { copy = newValue.map(Copy.init) }
  }
  /// A reference, since a context is copied more often than its snapshot is read.
  private var copy: Copy?
  /// A closure for the step to call with the progress of the transfer.
  var progress: @Sendable (TransferProgress) -> Void
  /// A Boolean value that indicates whether this flight has read persistence. Then ``stale`` is the
  /// result, and a second read is unnecessary.
  var hasAskedPersistence = false
  /// The record whose validators are sent, if the flight has read it for that.
  var stored: Stored?
  /// A Boolean value that indicates whether a waiter wants the server's response, and no other
  /// process's.
  var asksServer = false
  /// A Boolean value that indicates whether the response is neither taken from other processes nor
  /// shared with them.
  var isUnshared = false
  /// A closure to call before each request is sent.
  var sends: @Sendable () -> Void = {}
  /// The part that outages play in the fetch; `nil` if they are not remembered.
  var outage: OutageCheck?
  /// The flight as the instrument sees it; `nil` without one.
  var record: ModelLayer.InstrumentedFlight?
  /// The record of every attempt's redirects; `nil` if it is not needed.
  var trail: RedirectTrail?

  init(stale: Snapshot<AnyModel>? = nil, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }) {
    self.progress = progress
    self.stale = stale
  }

  /// A record by reference, as the copy.
  final class Stored: Sendable {
    let record: Record

    init(_ record: Record) { self.record = record }
  }

  private final class Copy: Sendable {
    let snapshot: Snapshot<AnyModel>

    init(_ snapshot: Snapshot<AnyModel>) { self.snapshot = snapshot }
  }
}

/// A parser for models of one type, for code that does not name the type.
struct AnyParser: Sendable {
  let type: any Any.Type
  /// The error of every call, if it is known beforehand.
  let unsupported: ParserError?
  let parse: @Sendable (_ body: Data, _ contentType: String?) throws(ParserError) -> Parsed<AnyModel>
  let encode: @Sendable (AnyModel) throws -> Data?
  /// The model of a caller that reads no result; `nil` if the type is another.
  let nothing: AnyModel?

  init<Model: Sendable>(_ parser: Parser<Model>) {
    (type, unsupported) = (Model.self, parser.unsupported)
    parse = { body, contentType throws(ParserError) in
      try parser.parse(body, contentType: contentType).map { AnyModel($0) }
    }
    encode = { try parser.encode($0.model(as: Model.self)) }
    nothing = (() as? Model).map { AnyModel($0) }
  }

  /// The name that a local value of the type is stored with.
  var modelName: ModelName { ModelName(type) }
}

// Conversions between the typed models above the engine and `AnyModel` beneath it.

extension Snapshot {
  /// Returns the snapshot with another model.
  private func with<Other>(_ model: Other) -> Snapshot<Other> {
    var snapshot = Snapshot<Other>(model: model, fetchedAt: fetchedAt, record: record)
    snapshot.head = head
    snapshot.receipt = receipt
    snapshot.isShared = isShared
    return snapshot
  }

  /// The snapshot with a model whose type only its reactor knows.
  var erased: Snapshot<AnyModel> { with(box.map { AnyModel(in: $0) } ?? AnyModel(model)) }
}

extension Snapshot<AnyModel> {
  /// Returns the snapshot with the type of its model.
  func typed<Typed: Sendable>(as type: Typed.Type) -> Snapshot<Typed> {
    var snapshot = with(model.model(as: type))
    snapshot.box = model.box
    return snapshot
  }
}

extension LoadState<AnyModel> {
  /// Returns the state with the type of its model.
  func typed<Typed: Sendable>(as type: Typed.Type) -> LoadState<Typed> { with(value?.model(as: type)) }
}
