import Foundation
import HTTPCaching
import HTTPTypes
import Testing

@testable import ReactorCore

@Suite struct `The word of an error about its server` {
  private func word(_ error: ReactorError) -> String {
    switch error.outcome {
    case .answered: "works"
    case .failed(_, ofConnection: true): "is gone"
    case .failed(_, ofConnection: false): "fails"
    case .unknown: "nothing"
    }
  }

  @Test func `a connection that was not made, or was lost, is an outage of the server`() {
    #expect(word(.network(TransportError.notConnected("refused"))) == "is gone")
    #expect(word(.network(TransportError.connectionFailed("reset"))) == "is gone")
  }

  @Test(arguments: [HTTPResponse.Status.internalServerError, .badGateway, .serviceUnavailable, .gatewayTimeout])
  func `a status that has a stale fallback is a failure of the resource`(status: HTTPResponse.Status) {
    #expect(word(.server(HTTPResponse(status: status), body: Data())) == "fails")
  }

  @Test func `a timeout: it fails`() { #expect(word(.timedOut) == "fails") }

  @Test(arguments: [HTTPResponse.Status.notFound, .unauthorized, .tooManyRequests])
  func `any other status: it works`(status: HTTPResponse.Status) {
    #expect(word(.server(HTTPResponse(status: status), body: Data())) == "works")
  }

  @Test(arguments: [ReactorError.cancelled, .noConnectivity, .notCached])
  func `a request that was not sent or did not end: nothing`(error: ReactorError) { #expect(word(error) == "nothing") }
}
