#if os(Linux)
  import ReactorCore
  import TestSupport
  import Testing

  /// In a process of its own: its memory is measured.
  @Suite(.timeLimit(.minutes(5))) struct `A file as a body` {
    @Test func `goes out by URLSession`() async {
      await #expect(processExitsWith: .success) {
        let growth = try await FileUpload.growth(sendingBy: URLSessionTransport())
        #expect(growth < 3 * FileUpload.size, "\(growth) bytes")
      }
    }
  }
#endif
