import ReactorFlux
import Testing

/// The lifetime of an observation.
@MainActor @Suite struct Observing {
  let store = Probe<A>()
  let trace = Trace()
  let owner = Owner()

  @Test func `an observation ends with its owner, which is not retained`() {
    var own: Owner? = Owner()
    weak let gone = own
    if let own {
      store.observe(own) { [trace] _, _ in trace.add("told") }
      store.observe(own, with: { [trace] _, _, _ in trace.add("told with") })
    }
    store.emitChange()
    own = nil
    #expect(gone == nil)
    store.emitChange()
    #expect(trace.lines == ["told", "told with"])
  }

  @Test func `an observation whose owner is released in its own callback ends with that call`() {
    final class Holder { var own: Owner? = Owner() }
    let holder = Holder()
    if let own = holder.own {
      store.observe(
        own,
        with: { [trace] given, _, _ in
          holder.own = nil
          trace.add("told")
          withExtendedLifetime(given) {}
        })
      store.observe(own) { [trace] _, _ in trace.add("not told") }
    }
    store.observe(owner) { [trace] _, _ in trace.add("other") }
    store.emitChange()
    store.emitChange()
    #expect(trace.lines == ["told", "other", "other"])
    #expect(holder.own == nil)
  }

  @Test func `an observation ends when its token is cancelled, and the others continue`() {
    let token = store.observe(owner) { [trace] _, _ in trace.add("first") }
    store.observe(owner) { [trace] _, _ in trace.add("second") }
    store.emitChange()
    #expect(!token.isCancelled)
    token.cancel()
    token.cancel()
    #expect(token.isCancelled)
    store.emitChange()
    #expect(trace.lines == ["first", "second", "second"])
  }

  @Test func `an observation does not end when its token is released`() {
    _ = store.observe(owner) { [trace] _, _ in trace.add("told") }
    store.emitChange()
    #expect(trace.lines == ["told"])
  }

  @Test func `an observation may be cancelled from another thread`() async {
    let token = store.observe(owner) { [trace] _, _ in trace.add("told") }
    await Task.detached { token.cancel() }.value
    store.emitChange()
    #expect(trace.lines == [])
  }

  @Test func `an observer may cancel a later one within the same change`() {
    let tokens = Tokens()
    store.observe(owner) { [trace] _, _ in
      trace.add("first")
      tokens.cancel()
    }
    tokens.add(store.observe(owner) { [trace] _, _ in trace.add("second") })
    store.emitChange()
    store.emitChange()
    #expect(trace.lines == ["first", "first"])
  }

  @Test func `an observation may be cancelled within its own callback`() {
    let tokens = Tokens()
    tokens.add(
      store.observe(owner) { [trace] _, _ in
        trace.add("told")
        tokens.cancel()
      })
    store.emitChange()
    store.emitChange()
    #expect(trace.lines == ["told"])
  }

  @Test func `an observation that begins while observers are called starts with the next change`() {
    store.observe(owner) { [trace, owner] store, _ in
      trace.add("first")
      if trace.lines.count == 1 { store.observe(owner) { _, _ in trace.add("added") } }
    }
    store.emitChange()
    #expect(trace.lines == ["first"])
    store.emitChange()
    #expect(trace.lines == ["first", "first", "added"])
  }

  @Test func `an observer is not called for its own change once it is cancelled`() {
    let tokens = Tokens()
    tokens.add(
      store.observe(owner) { [trace] store, _ in
        trace.add("told")
        store.emitChange()
        if trace.lines.count == 2 { tokens.cancel() }
      })
    store.emitChange()
    #expect(trace.lines == ["told", "told"])
  }

  @Test func `a cancelled observation releases its closure with the next change or observation`() {
    // On the main actor: an optimized build refuses to send anything else into the observers.
    weak var first: Trace?
    weak var second: Trace?
    let tokens = {
      let (one, two) = (Trace(), Trace())
      (first, second) = (one, two)
      return [
        store.observe(owner) { _, _ in withExtendedLifetime(one) {} },
        store.observe(owner) { _, _ in withExtendedLifetime(two) {} },
      ]
    }()
    tokens[0].cancel()
    store.emitChange()
    #expect(first == nil)
    #expect(second != nil)
    tokens[1].cancel()
    store.observe(owner) { _, _ in }
    #expect(second == nil)
  }

  @Test func `an observation's closure may use the store while it is released`() {
    let tokens = {
      let told = Parting { [store, trace, owner] in
        store.observe(owner) { _, _ in trace.add("told") }
        store.emitChange()
      }
      return [
        store.observe(owner) { _, _ in withExtendedLifetime(told) {} },
        store.observe(owner) { [trace] _, _ in trace.add("other") },
      ]
    }()
    tokens[0].cancel()
    store.emitChange()
    #expect(trace.lines == ["other", "other", "told"])
    let last = {
      let parting = Parting { [store] in store.emitChange() }
      return store.observe(owner) { _, _ in withExtendedLifetime(parting) {} }
    }()
    last.cancel()
    store.observe(owner) { _, _ in }
    #expect(trace.lines.count == 5)
  }
}

/// Tokens of observations that are there before their tokens are.
@MainActor private final class Tokens {
  private var tokens: [ChangeToken] = []

  func add(_ token: ChangeToken) { tokens.append(token) }

  func cancel() { for token in tokens { token.cancel() } }
}
