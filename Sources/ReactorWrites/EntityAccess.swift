import Foundation
import HTTPCaching
import ReactorCore

/// The result of examining one member of a model.
enum EntityUpdate {
  case keep
  case replace(AnyModel)
  case remove
}

/// The way to the entities of a reactor's models. Made once per reactor, if its type has any.
final class EntityAccess: ModelPresentation {
  typealias Update = @Sendable (AnyModel, (EntityID, () -> AnyModel) -> EntityUpdate) -> AnyModel?

  /// The type of the entities.
  let type: ObjectIdentifier
  let table: EntityTable
  /// Calls a closure for each member of a model, and returns the changed model; the same one if no
  /// member has changed, and `nil` if the model is an entity that is gone. It calls user code.
  let update: Update
  /// Compares two entities; `nil` if their type is not `Equatable`.
  private let isEqual: (@Sendable (AnyModel, AnyModel) -> Bool)?

  private init<E: Entity>(of type: E.Type, _ table: EntityTable, _ update: @escaping Update) {
    self.type = ObjectIdentifier(type)
    self.table = table
    self.update = update
    isEqual = (E.self as? any (Equatable & Sendable).Type).map { AnyModel.equality(of: $0) }
  }

  /// Returns the access to the entities of a model type; `nil` if it has none.
  static func find<Model>(in _: Model.Type, _ table: EntityTable) -> EntityAccess? {
    if let type = Model.self as? any Entity.Type { return ofEntity(type, table) }
    if let type = Model.self as? any EntityContainer.Type { return ofContainer(type, table) }
    return nil
  }

  private static func ofEntity<E: Entity>(_: E.Type, _ table: EntityTable) -> EntityAccess {
    EntityAccess(of: E.self, table) { model, body in
      switch body(EntityID(model.model(as: E.self).id, of: E.self), { model }) {
      case .keep: model
      case .replace(let other): other
      case .remove: nil
      }
    }
  }

  private static func ofContainer<C: EntityContainer>(_: C.Type, _ table: EntityTable) -> EntityAccess {
    EntityAccess(of: C.Member.self, table) { model, body in
      var container = model.model(as: C.self)
      var hasChanged = false
      container.updateMembers { member in
        switch body(EntityID(member.id, of: C.Member.self), { AnyModel(member) }) {
        case .keep: return member
        case .replace(let other):
          hasChanged = true
          return other.model(as: C.Member.self)
        case .remove:
          hasChanged = true
          return nil
        }
      }
      return hasChanged ? AnyModel(container) : model
    }
  }

  /// Returns the members of a model that has arrived. A member that is equal to the newest value is
  /// that value, so that its arrival changes nothing.
  func members(of model: AnyModel, at now: Date) -> EntityMembers {
    var (ids, values): ([EntityID], [AnyModel]) = ([], [])
    var seen: Set<EntityID> = []
    _ = update(model) { id, member in
      guard seen.insert(id).inserted else { return .keep }
      ids.append(id)
      values.append(member())
      return .keep
    }
    let (handles, newest) = table.retain(ids)
    if let isEqual {
      for index in values.indices {
        if let known = newest[index], isEqual(known, values[index]) { values[index] = known }
      }
    }
    return EntityMembers(handles, values, in: table, arrivedAt: now)
  }
}

extension EntityAccess {
  var epoch: Int { table.epoch }

  func arrived(_ model: AnyModel, at now: Date) -> any PresentedCopy {
    ModelEntities(model, members(of: model, at: now), self)
  }

  func confirmed(_ copy: CachedModel?) -> any PresentedValue { DraftedModel(copy, [], self, isConfirmed: true) }

  func watch(
    _ copies: [any PresentedCopy], isOpen: Bool, of key: RecordKey, instead old: (any AnyObject & Sendable)?
  ) -> (any AnyObject & Sendable)? {
    let members = copies.compactMap { ($0 as? ModelEntities)?.members }
    // Drafts of the key may insert any entity.
    let type = isOpen ? type : nil
    if let old = old as? EntityWatch, old.isOf(members, type) { return old }
    return members.isEmpty && type == nil ? nil : EntityWatch(members, type, key: key, in: table)
  }

  func beginWrite(in layer: LayerContext, requestedIn epoch: Int) -> @Sendable (AnyModel) -> Void {
    let start = layer.writeStart(askedIn: epoch)
    return { layer.note($0, through: self, of: start) }
  }
}

/// The shown value of a key: its base with drafts and with newer values of its entities.
struct DraftedOutput: Sendable {
  /// `nil` if a draft has removed the value, the entity is gone, or there is no base.
  var model: AnyModel?
  /// The pending drafts of entities that the value holds.
  var pending: [Draft] = []
  /// The version of the table of entities.
  var version: UInt64 = 0
  /// The place of the last draft that was applied.
  var lastOrder: UInt64 = 0
}

extension EntityAccess {
  /// Returns the base with its accepted drafts and the newer values of entities, in the order in
  /// which the server has said them, and then with the pending drafts.
  ///
  /// - Parameters:
  ///   - drafts: the drafts of the key: the accepted ones, then the pending ones.
  ///   - isConfirmed: `true` to leave out pending drafts of entities.
  func output(
    _ base: AnyModel?, _ members: EntityMembers?, _ drafts: [Draft], _ view: EntityTable.View, isConfirmed: Bool
  ) -> DraftedOutput {
    var output = DraftedOutput(model: base, version: view.version)
    var rest = view.values
    func lay(before number: Generation) {
      let due = rest.filter { $0.value.ended < number }
      guard !due.isEmpty, let model = output.model else { return }
      for id in due.keys { rest[id] = nil }
      output.model = update(model) { id, _ in
        guard let newest = due[id] else { return .keep }
        return newest.model.map { .replace($0) } ?? .remove
      }
    }
    func apply(_ draft: Draft, isPending: Bool) {
      guard let entity = draft.entity else { return output.model = draft.apply(output.model) }
      guard let model = output.model else { return }
      output.model = update(model) { id, member in
        guard id == entity else { return .keep }
        if isPending { output.pending.append(draft) }
        return draft.apply(member()).map { .replace($0) } ?? .remove
      }
    }
    /// An element that a draft has inserted is not a member of the base.
    func layInserted(after number: Generation, _ accepted: [(Generation, Draft)]) {
      guard let model = output.model else { return }
      output.model = update(model) { id, _ in
        guard view.values[id] == nil, let newest = table.newest(of: id), newest.ended > number,
          !accepted.contains(where: { $0.1.entity == id && $0.0 > newest.ended })
        else { return .keep }
        return newest.model.map { .replace($0) } ?? .remove
      }
    }
    let own = members?.stamp?.ended ?? 0
    var (accepted, pending): ([(Generation, Draft)], [Draft]) = ([], [])
    for draft in drafts + view.drafts {
      guard let number = draft.acceptedUnder else {
        if !isConfirmed || draft.entity == nil { pending.append(draft) }
        continue
      }
      // What was requested after the acceptance has the change.
      let known = draft.entity.flatMap { view.values[$0]?.ended } ?? own
      if draft.entity == nil || number > max(own, known) { accepted.append((number, draft)) }
    }
    if !view.drafts.isEmpty {
      accepted.sort { $0.0 < $1.0 }
      pending.sort { $0.order < $1.order }
    }
    for (number, draft) in accepted {
      lay(before: number)
      apply(draft, isPending: false)
    }
    lay(before: .max)
    if let number = accepted.last(where: { $0.1.entity == nil })?.0 { layInserted(after: number, accepted) }
    for draft in pending { apply(draft, isPending: true) }
    output.lastOrder = pending.last?.order ?? 0
    return output
  }
}

extension Draft {
  /// Returns `value` with this draft of an entity, wherever it holds the entity.
  package func applied<Model: Sendable>(to value: Model?) -> Model? {
    guard let value, let access = EntityAccess.find(in: Model.self, EntityTable()) else { return value }
    let model = access.update(AnyModel(value)) { id, member in
      guard id == entity else { return .keep }
      return apply(member()).map { .replace($0) } ?? .remove
    }
    return model?.model(as: Model.self)
  }
}
