import ReactorCore
import ReactorOutbox

extension MutationConformance {
  /// Values of a resource, whose type is known only inside. Each function returns the violations.
  struct Sample: Sendable {
    let resource: Resource
    let model: any Sendable.Type
    private let probe: MutationProbe<M>
    /// Compares the effects of two mutations that are equal.
    let changing: @Sendable (M, M) -> [String]
    /// Compares the effect of a draft with the effect of applying the same draft twice.
    let repeating: @Sendable (M) -> [String]
    /// Compares values that already have the effect with the draft applied to them.
    let unsettling: @Sendable (M) -> [String]

    init<Model: Equatable & Sendable>(
      _ type: Model.Type, at resource: Resource, _ bases: [Model], settled: [Model], _ probe: MutationProbe<M>
    ) {
      self.resource = resource
      self.probe = probe
      model = type
      // The draft of a resource without a value is checked too.
      let bases = bases.map(Optional.some) + [nil]
      let place = "\(type) at \(resource)"
      changing = { mutation, restored in
        bases.flatMap { base in
          let result = Self.applied(mutation, to: base, resource, probe)
          let others = [("the next time", mutation), ("after decoding", restored)]
          return others.compactMap { when, mutation in
            let other = Self.applied(mutation, to: base, resource, probe)
            return other == result ? nil : "\(place): \(base.text) becomes \(result.text), and \(when) \(other.text)"
          }
        }
      }
      repeating = { mutation in
        bases.compactMap { base in
          let once = Self.applied(mutation, to: base, resource, probe)
          let twice = Self.applied(mutation, to: once, resource, probe)
          return once == twice ? nil : "\(place): \(base.text) becomes \(once.text), and the second time \(twice.text)"
        }
      }
      unsettling = { mutation in
        settled.compactMap { value in
          let result = Self.applied(mutation, to: value, resource, probe)
          return result == value ? nil : "\(place): \(Optional(value).text) has the effect, but becomes \(result.text)"
        }
      }
    }

    private static func applied<Model: Sendable>(
      _ mutation: M, to value: Model?, _ resource: Resource, _ probe: MutationProbe<M>
    ) -> Model? {
      probe.drafts(of: mutation).applied(to: value, of: resource, key: probe.key)
    }

    /// Returns `true` for a draft of the sample's type over its resource.
    func isOf(_ change: Drafts.Change) -> Bool {
      guard ObjectIdentifier(change.model) == ObjectIdentifier(model) else { return false }
      let key = try? probe.key(of: resource)
      return change.resource == resource || (key != nil && key == (try? probe.key(of: change.resource)))
    }
  }
}

extension Optional {
  /// The value in at most 300 characters.
  fileprivate var text: String {
    guard let self else { return "no value" }
    let text = String(describing: self)
    return text.count > 300 ? "\(text.prefix(300))…" : text
  }
}
