import FastJSON
import Foundation
public import ReactorCore
public import ReactorWrites

/// The consequences of an accepted mutation; see ``Mutation/settle(_:_:)``.
///
/// ```swift
/// func settle(_ post: Post, _ settlement: inout Settlement) {
///   settlement.identify(id, as: post.id)
///   settlement.invalidate(.under("authors/\(post.author)"))
/// }
/// ```
public struct Settlement: Sendable {
  /// The JSON of the server's ids.
  private(set) var identities: [(TemporaryID, Data)] = []
  private(set) var invalidated: [ResourceSet] = []
  private(set) var keepsDraft: Duration?
  /// The values and removals of entities, in the order in which they were set.
  /// Each gets the start of the request.
  private(set) var entities: [@Sendable (LayerContext, WriteStart?) -> Void] = []
  /// The reason why an id could not be encoded.
  private(set) var failure: String?

  init() {}

  /// Replaces a temporary id by the server's id, in every other write of the outbox, saved or not.
  ///
  /// ```swift
  /// settlement.identify(id, as: post.id)
  /// ```
  ///
  /// Each string or number of a mutation that *is* the temporary id becomes `id`. An id that is not
  /// temporary any more is left as it is.
  ///
  /// - Parameters:
  ///   - temporary: The id in the mutation.
  ///   - id: The server's id. Its JSON must be a string or an integer.
  public mutating func identify(_ temporary: TemporaryID, as id: some Codable & Hashable & Sendable) {
    guard temporary.isTemporary else { return }
    do {
      let json = try FastJSONEncoder().encode(id)
      switch try JSONValue(parsing: json) {
      case .string, .integer, .unsigned: identities.append((temporary, json))
      default: failure = "an id is a string or an integer in JSON, and \(type(of: id)) is neither"
      }
    } catch {
      failure = "\(error)"
    }
  }

  /// Declares resources stale, as `ModelLayer.invalidate(_:)` does, in addition to the resources
  /// that HTTP and the drafts make stale.
  ///
  /// ```swift
  /// settlement.invalidate(.resource("drafts"), .group("feed"))
  /// ```
  public mutating func invalidate(_ resources: ResourceSet...) { invalidated += resources }

  /// Makes a value the newest one of its entity, in every cached value of the layer that holds it.
  ///
  /// ```swift
  /// settlement.set(Post(id: id, title: title))
  /// ```
  ///
  /// If the answer is an entity or contains entities, they are set already.
  public mutating func set<E: Entity>(_ value: E) { note(value) }

  /// Removes an entity from every cached value of the layer that holds it.
  ///
  /// ```swift
  /// settlement.remove(Post.self, id: 7)
  /// ```
  public mutating func remove<E: Entity>(_ type: E.Type, id: E.ID) {
    entities.append { $0.remove(type, id: id, of: $1) }
  }

  mutating func note<Value: Sendable>(_ value: Value) { entities.append { $0.note(value, of: $1) } }

  /// Shows the draft for a while longer, up to a day, whatever arrives meanwhile: for a server that
  /// answers 202 and applies the change later. The resources of the draft are stale then.
  ///
  /// ```swift
  /// settlement.keepDraft(for: .seconds(60))
  /// ```
  ///
  /// With a durable store, the next process continues to show it. Of drafts that are kept, the
  /// latest 100 outlive their process.
  public mutating func keepDraft(for duration: Duration) { keepsDraft = duration }
}
