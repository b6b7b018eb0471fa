#if AsyncAlgorithms
  import ReactorCore
  import ReactorOperators

  // The Swift code of ReactorOperators.docc/ReactorOperators.md, which a test compares with it.

  struct OperatorExamples {
    var api: AuthenticatedFabricAPI
    var layer: ModelLayer
    var samples: [Application]

    func results<Queries: AsyncSequence<String, Never> & Sendable>(
      _ queries: Queries
    ) -> some AsyncSequence<LoadState<[Application]>, Never> & Sendable {
      let results = queries.loadStates()
        .dependentStates(keepsPreviousValue: true) { query in
          api.applications.states(for: Resource("projects", query: ["q": query]))
        }
        .placeholder(samples)
      return results
    }

    @MainActor func dashboard() async {
      let dashboard = LiveResource(
        combined(api.applications.states(for: "projects"), api.crashes.states(for: "crashes")))
      if let (applications, crashes) = dashboard.value { show(applications, crashes) }
      await dashboard.refresh()
    }

    private func show(_ applications: [Application], _ crashes: [Crash]) {}

    func returning() {
      layer.refetchInForeground(olderThan: .seconds(60), atMostEvery: .seconds(30))
    }

    #if os(Linux)
      func pressed() -> ReactorConfiguration {
        var configuration = ReactorConfiguration()
        configuration.memoryPressure = CgroupMemoryPressure()
        return configuration
      }
    #endif

    func evict() {
      layer.evictUnused()
    }
  }
#endif
