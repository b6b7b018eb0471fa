#if AsyncHTTPClient && os(Linux)
  import ReactorAsyncHTTPClient
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(5))) struct `A body from a file` {
    @Test func `a body from a file goes out by AsyncHTTPClient without being in memory as a whole`() async {
      await #expect(processExitsWith: .success) {
        let growth = try await FileUpload.growth(sendingBy: AsyncHTTPClientTransport())
        #expect(growth < FileUpload.size / 2, "\(growth) bytes")
      }
    }

    @Test func `goes out in a form by AsyncHTTPClient without being in memory as a whole`() async {
      await #expect(processExitsWith: .success) {
        let growth = try await FileUpload.growth(ofFormSentBy: AsyncHTTPClientTransport())
        #expect(growth < FileUpload.size / 2, "\(growth) bytes")
      }
    }
  }
#endif
