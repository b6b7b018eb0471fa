import Foundation
import Testing

@testable import ReactorCore

#if canImport(FoundationNetworking)
  import FoundationNetworking

  @Suite struct `A transfer of a URLSession that cannot connect` {
    /// The code of the error with which the platform's error ends a transfer.
    private func code(
      sent: [Int64], _ text: String = "Failed to connect to localhost port 1"
    ) async throws -> URLError.Code? {
      try await TransferReport.reporting({ _ in }, bodySize: 3) { report in
        let transfer = URLSessionTransfer(method: .post, maximumSize: 1_000, report: report)
        for count in sent { transfer.sent(count) }
        transfer.completed(URLError(.cannotConnectToHost, userInfo: [NSLocalizedDescriptionKey: text]), late: nil)
        guard case .failure(let error) = await transfer.outcome.value else { return nil }
        return (error as? URLError)?.code
      }
    }

    @Test func `a transfer of a URLSession that cannot connect has sent nothing, and says so`() async throws {
      #expect(try await code(sent: []) == .cannotConnectToHost)
      #expect(try await code(sent: [0]) == .cannotConnectToHost)
    }

    @Test func `has perhaps sent a request, where another of the host's addresses has refused before`() async throws {
      #expect(try await code(sent: [], "Empty reply from server") == .networkConnectionLost)
      #expect(try await code(sent: [], "Recv failure: Connection reset by peer") == .networkConnectionLost)
    }

    @Test func `has lost a connection on which it had sent its body`() async throws {
      #expect(try await code(sent: [1]) == .networkConnectionLost)
      #expect(try await code(sent: [0, 3]) == .networkConnectionLost)
    }
  }
#endif
