#if AsyncHTTPClient
  import ReactorAsyncHTTPClient
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(5))) struct `An upload by AsyncHTTPClient` {
    private let trial = UploadTrial(AsyncHTTPClientTransport())

    @Test func `sends fields, data and files, and reports its progress in order`() async throws {
      try await trial.sendsEverything(fileSize: 20 << 20)
    }

    @Test func `sends bodies of every size`() async throws { try await trial.sendsEverySize() }

    @Test func `ends with the answer of a server that refuses it by its head`() async throws {
      try await trial.endsWithAnEarlyAnswer()
    }

    @Test func `sends the same bytes again, although the file is gone`() async throws {
      try await trial.sendsTheSameBytesAgain()
    }

    @Test func `sends nothing if a file is missing, and says which`() async throws {
      try await trial.refusesAMissingFile()
    }

    @Test func `reports nothing more when the caller is cancelled`() async throws {
      try await trial.endsWhenCancelled()
    }
  }
#endif
