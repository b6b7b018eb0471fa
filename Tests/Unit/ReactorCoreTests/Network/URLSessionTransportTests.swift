import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Testing

extension Set<TransportConformance.Exception> {
  /// The exceptions that Foundation makes necessary. There are fewer on Apple platforms.
  static var ofURLSession: Self {
    #if canImport(FoundationNetworking)
      [
        .fieldsApart, .fieldsInAnyCase, .compressedBodyCutShort, .bodyOfAimlessRedirect,
        .bodyWithGET, .fieldsWithoutSpace, .addressesOfIPv6, .slowReaders,
      ]
    #else
      [.fieldsApart, .bodyWithGET, .slowReaders]
    #endif
  }
}

@Suite(.timeLimit(.minutes(3)))
struct `URLSession as a transport` {
  @Test func `it keeps the contract of every transport`() async {
    await TransportConformance(except: .ofURLSession) {
      URLSessionTransport(
        timeout: $0.timeout, maximumResponseSize: $0.maximumResponseSize, maximumRedirects: $0.maximumRedirects,
        clock: $0.clock)
    }.run()
  }

  @Test func `cookies are kept only where that is requested`() async throws {
    for usesCookies in [false, true] {
      try await MockServer.run { _ in
        .text("x", fields: [("Set-Cookie", "id=7; Path=/")])
      } body: { server in
        let transport = URLSessionTransport(usesCookies: usesCookies)
        _ = try await transport.send(server.request())
        _ = try await transport.send(server.request())
        #expect(server.requests.map { $0["Cookie"] } == [nil, usesCookies ? "id=7" : nil])
        let other = URLSessionTransport(usesCookies: usesCookies)
        _ = try await other.send(server.request())
        #expect(server.requests.last?["Cookie"] == nil)
      }
    }
  }

  @Test func `exchanges in turn share a connection, which closes with the last copy`() async throws {
    try await MockServer.run { _ in
      .text("x")
    } body: { server in
      do {
        let transport = URLSessionTransport()
        let copy = transport
        for _ in 0..<5 { _ = try await transport.send(server.request()) }
        _ = try await copy.send(server.request())
        #expect(server.acceptedConnections == 1)
        #expect(server.openConnections == 1)
      }
      try await server.waitUntilDisconnected()
    }
  }

  @Test func `a body with GET is an invalid resource`() async throws {
    try await MockServer.run { _ in
      .text("x")
    } body: { server in
      await #expect {
        try await URLSessionTransport().send(server.request(), body: Data("x".utf8))
      } throws: { error in
        guard case ReactorError.invalidResource = error else { return false }
        return true
      }
      _ = try await URLSessionTransport().send(server.request(), body: Data())
      #expect(server.requests.count == 1)
    }
  }
}
