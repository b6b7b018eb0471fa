#if AsyncHTTPClient
  import ReactorAsyncHTTPClient
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(5))) struct `What comes over redirects by AsyncHTTPClient` {
    @Test func `is fresh for as long as the redirect is`() async throws {
      try await RedirectScenario(AsyncHTTPClientTransport()).expectShortestFreshness()
    }

    @Test func `is requested without the validators of another URL`() async throws {
      try await RedirectScenario(AsyncHTTPClientTransport()).expectNoValidatorsElsewhere()
    }

    @Test func `confirms nothing that is stored`() async throws {
      try await RedirectScenario(AsyncHTTPClientTransport()).expectNoConfirmationFromElsewhere()
    }

    @Test func `is not stored where a step of the way may not be, or changes something`() async throws {
      try await RedirectScenario(AsyncHTTPClientTransport()).expectNothingStored()
    }

    @Test func `is a change that has been made, whatever follows`() async throws {
      try await RedirectScenario(AsyncHTTPClientTransport()).expectChange()
    }

    @Test func `is no answer to a write that was not carried out, or may not have been`() async throws {
      try await RedirectedWriteScenario(AsyncHTTPClientTransport()).expectNoLoss()
    }

    @Test func `is no page instead of an answer`() async throws {
      try await RedirectedWriteScenario(AsyncHTTPClientTransport()).expectNoPage()
    }
  }
#endif
