import Foundation
package import HTTPCaching
public import ReactorCore
public import ReactorWrites

/// The drafts of a mutation: the changes that are shown over cached values until the server has
/// answered.
///
/// ```swift
/// func draft(_ drafts: inout Drafts) {
///   drafts.change([Post].self, at: "posts") { posts in posts.removeAll { $0.id == 7 } }
/// }
/// ```
///
/// The closures run without a lock, on the executor of the first reader, and again for each newer
/// value. They must be quick and without side effects.
public struct Drafts: Sendable {
  /// A change to one resource's value.
  package struct Change: Sendable {
    package let resource: Resource
    package let model: any Sendable.Type
    /// The closure, of type `@Sendable (Model?) -> Model?`.
    package let body: any Sendable
    let make: @Sendable (UUID, RecordKey) -> Draft
  }

  /// A change of an entity, wherever it is shown.
  package struct EntityChange: Sendable {
    let make: @Sendable (UUID) -> Draft
  }

  package private(set) var changes: [Change] = []
  package private(set) var entityChanges: [EntityChange] = []

  package init() {}

  /// Changes the value of a resource. Without a value, the draft applies once there is one.
  ///
  /// ```swift
  /// drafts.change([Post].self, at: "posts") { posts in
  ///   if !posts.contains(where: { $0.id == post.id }) { posts.append(post) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - type: The model type. Reactors of other types do not show the draft.
  ///   - resource: The resource whose value changes.
  ///   - body: The change, which must be idempotent.
  public mutating func change<Model: Sendable>(
    _ type: Model.Type, at resource: Resource, _ body: @escaping @Sendable (inout Model) -> Void
  ) {
    replace(type, at: resource) { base in
      guard var model = base else { return nil }
      body(&model)
      return model
    }
  }

  /// Replaces the value of a resource, or adds it if it has no value yet.
  ///
  /// ```swift
  /// drafts.replace(Profile.self, at: "me") { profile in profile ?? Profile(name: name) }
  /// ```
  ///
  /// - Parameters:
  ///   - type: The model type. Reactors of other types do not show the draft.
  ///   - resource: The resource whose value changes.
  ///   - body: Returns the new value; `nil` for none.
  public mutating func replace<Model: Sendable>(
    _ type: Model.Type, at resource: Resource, _ body: @escaping @Sendable (Model?) -> Model?
  ) {
    changes.append(
      Change(resource: resource, model: type, body: body) { id, key in Draft(id: id, key: key, of: type, body) })
  }

  /// Changes an entity in every cached value of the layer that holds its id: lists, pages, and its
  /// own resource.
  ///
  /// ```swift
  /// drafts.change(Post.self, id: 7) { $0.title = title }
  /// ```
  ///
  /// It applies after the mutation's drafts of resources. Requests do not wait for the write on its
  /// account.
  ///
  /// - Parameters:
  ///   - type: The type of the entity.
  ///   - id: The id, which may be a temporary one.
  ///   - body: The change, which must be idempotent.
  public mutating func change<E: Entity>(
    _ type: E.Type, id: E.ID, _ body: @escaping @Sendable (inout E) -> Void
  ) {
    draft(type, id) { base in
      var entity = base
      body(&entity)
      return entity
    }
  }

  /// Removes an entity from every cached value of the layer that holds its id.
  ///
  /// ```swift
  /// drafts.remove(Post.self, id: 7)
  /// ```
  public mutating func remove<E: Entity>(_ type: E.Type, id: E.ID) { draft(type, id) { _ in nil } }

  private mutating func draft<E: Entity>(_ type: E.Type, _ id: E.ID, _ body: @escaping @Sendable (E) -> E?) {
    entityChanges.append(EntityChange { Draft(id: $0, entity: id, of: type, body) })
  }

  /// Returns the drafts: those of resources, then those of entities, in the order in which they
  /// were added.
  ///
  /// - Throws: `ReactorError.invalidResource` if a resource cannot be requested or is not
  ///   read-only.
  func made(of id: UUID, key: (Resource) throws(ReactorError) -> RecordKey) throws(ReactorError) -> [Draft] {
    var drafts: [Draft] = []
    for change in changes {
      guard change.resource.readsOnly else {
        throw .invalidResource("\(change.resource) is not read-only, so it has no value to draft over")
      }
      drafts.append(change.make(id, try key(change.resource)))
    }
    return drafts + entityChanges.map { $0.make(id) }
  }

  /// Returns `value` with the drafts of its type and record applied.
  package func applied<Model: Sendable>(
    to value: Model?, of resource: Resource, key: (Resource) throws(ReactorError) -> RecordKey
  ) -> Model? {
    let record = try? key(resource)
    let changed = changes.reduce(value) { value, change in
      guard change.resource == resource || (record != nil && record == (try? key(change.resource))),
        let body = change.body as? @Sendable (Model?) -> Model?
      else { return value }
      return body(value)
    }
    return entityChanges.reduce(changed) { $1.make(UUID()).applied(to: $0) }
  }
}

extension [Draft] {
  /// The keys of the resources with drafts.
  var keys: [RecordKey] { filter { $0.entity == nil }.map(\.key) }
}
