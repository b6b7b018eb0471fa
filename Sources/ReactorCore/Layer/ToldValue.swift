package import Foundation
package import HTTPCaching
import HTTPTypes

/// A new version of a resource, as a server has told it with a change.
package struct ToldValue: Sendable {
  let url: String
  /// The strong entity tag of the version that it replaces.
  let from: String
  /// A Boolean value that indicates whether ``record`` needs the body of the earlier version.
  let needsBody: Bool
  /// Returns the record of this version, from the head of the earlier one and its body; `nil` if it
  /// cannot be made.
  let record: @Sendable (_ earlier: Record.Head, _ body: Data?, _ now: Date) -> Record?

  package init(
    _ url: String, from: String, needsBody: Bool,
    record: @escaping @Sendable (_ earlier: Record.Head, _ body: Data?, _ now: Date) -> Record?
  ) {
    (self.url, self.from, self.needsBody, self.record) = (url, from, needsBody, record)
  }
}

/// A value that the server has told, and its place in the order of the layer. Nothing is replaced
/// before ``finish()``.
package struct ToldChangeOfValue: Sendable {
  let moment: Moment
  fileprivate let value: ToldValue
  fileprivate let replacements: [ToldReplacement]

  /// A Boolean value that indicates whether no copy can be replaced.
  package var isVoid: Bool { replacements.isEmpty }

  /// Replaces each copy that is still the earlier version, and that nothing else concerns: no
  /// request, no write, no draft and no local value. The others are left as they are.
  package func finish() async {
    for replacement in replacements { await replacement.reactor.finish(replacement, by: value) }
  }
}

/// A copy that a told value may replace.
struct ToldReplacement: Sendable {
  let reactor: any LayerReactor
  let ticket: Generations.Ticket
}

extension LayerContext {
  /// Begins to replace a value. The number of the change is drawn here, so that every later change
  /// is newer.
  package func begin(_ value: ToldValue) -> ToldChangeOfValue {
    let moment = Moment(number: generations.next(), date: configuration.now())
    // What other processes share is fetched from the server.
    let replacements = upstream == nil ? livingMembers.flatMap { $0.replacements(by: value) } : []
    return ToldChangeOfValue(moment: moment, value: value, replacements: replacements)
  }

  /// Marks the change of a value that was told, for the copies that were not replaced.
  package func mark(_ change: ToldChange, of value: ToldChangeOfValue) {
    var change = change
    (change.isInOrder, change.from) = (true, value.value.from)
    mark(change, as: value.moment)
  }
}
