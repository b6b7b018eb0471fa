import ReactorFlux

/// What one dispatch costs with 1 and with 20 stores, beside a plain dictionary of closures, in one run. Each figure is the median of
/// rounds that were taken in turn.
@MainActor func measure() throws {
  for stores in [1, 20] {
    let owner = Counter()
    let plain = PlainDictionary()
    let counters = (0..<stores).map { _ in Counter() }
    for counter in counters { plain.on("added") { payload in counter.count += payload as? Int ?? 0 } }

    let dispatcher = Dispatcher()
    for type in storeTypes.prefix(stores) { try register(type, in: dispatcher, observedBy: owner) }
    let reSwift = ReSwiftShaped(stores: stores)
    var told = 0
    for counter in counters { reSwift.subscribe(counter) { _, _ in told += 1 } }

    let calls = 200_000 / stores
    let jobs: [(name: String, body: () -> Void)] = [
      ("plain dictionary", { plain.dispatch("added", 1) }),
      ("ReactorFlux", { dispatcher.dispatch(.added, 1) }),
      ("ReactorFlux, a change and an observer each", { dispatcher.dispatch(.added, 1) }),
      ("shape of ReSwift, a subscriber each", { reSwift.dispatch(ReSwiftShaped.Add(amount: 1)) }),
    ]
    var times = jobs.map { _ in [Double]() }
    for _ in 0..<101 {
      for (index, job) in jobs.enumerated() {
        tellsChanges = index == 2
        let began = ContinuousClock.now
        for _ in 0..<calls { job.body() }
        times[index].append(began.duration(to: .now) / .nanoseconds(1) / Double(calls))
      }
    }
    let handled = 101 * calls
    let first = try dispatcher.store(Store01.self)
    precondition(counters[0].count == handled && first.count == 2 * handled && owner.count == stores * handled)
    let medians = times.map { $0.sorted()[50] }
    for (job, median) in zip(jobs, medians) {
      let ratio = median / medians[0]
      print("\(stores) stores: \(job.name): \(Int(median)) ns, \(Double(Int(ratio * 100)) / 100) ×")
    }
  }
}

@MainActor func register<S: Counting>(_ type: S.Type, in dispatcher: Dispatcher, observedBy owner: Counter) throws {
  try dispatcher.register(type)
  try dispatcher.store(type).observe(owner, with: { owner, _, _ in owner.count += 1 })
}

try measure()
