#if os(Linux)
  import ReactorCore
  import TestSupport
  import Testing

  /// In a separate process, because its memory is measured.
  @Suite(.timeLimit(.minutes(5))) struct `A file as a body` {
    @Test func `a file as a body goes out by URLSession`() async {
      await #expect(processExitsWith: .success) {
        let growth = try await FileUpload.growth(sendingBy: URLSessionTransport())
        #expect(growth < 3 * FileUpload.size, "\(growth) bytes")
      }
    }

    @Test func `a file as a part of a form goes out by URLSession`() async {
      await #expect(processExitsWith: .success) {
        let growth = try await FileUpload.growth(ofFormSentBy: URLSessionTransport())
        #expect(growth < 3 * FileUpload.size, "\(growth) bytes")
      }
    }
  }
#endif
