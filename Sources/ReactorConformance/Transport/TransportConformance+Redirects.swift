import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Redirects as browsers follow them (RFC 9110 §15.4).
extension TransportConformance.Check {
  static let redirects = [
    Self("a Location is resolved against the request's URL", unless: .redirects) { subject in
      for (location, target) in [
        ("/y", "/y"), ("y", "/a/y"), ("../y", "/y"), ("?q=1", "/a/b?q=1"), ("/a%2Fb?x=%2B", "/a%2Fb?x=%2B"),
        ("/%C3%A9#part", "/%C3%A9"), ("./y?z#w", "/a/y?z"),
      ] {
        try await subject.serving {
          $0.target == "/a/b" ? .redirect(to: location) : .text("there")
        } body: { server, transport in
          let (response, body) = try await transport.send(server.request("/a/b"))
          subject.expect(response.status == .ok && body == Data("there".utf8), "\(location): \(response.status)")
          subject.expect(server.requests.map(\.target) == ["/a/b", target], "\(location): \(server.requests)")
        }
      }
    },
    Self("a redirect without a usable Location is returned as the response", unless: .redirects) { subject in
      for location in [
        nil, "", "mailto:a@example.com", "ftp://example.com/x", "file:///etc/passwd", "http://[bad", "http:///x",
      ] {
        try await subject.serving { _ in
          .status(302, fields: location.map { [("Location", $0)] } ?? [], body: Data("moved".utf8))
        } body: { server, transport in
          let (response, body) = try await transport.send(server.request())
          subject.expect(
            response.status == .found, "Location \(location ?? "missing"): the status is \(response.status)")
          let isDropped = subject.exceptions.contains(.bodyOfAimlessRedirect)
          subject.expect(
            isDropped || body == Data("moved".utf8),
            "Location \(location ?? "missing"): the transport returned \(body.count) bytes")
          subject.expect(
            server.requests.count == 1,
            "Location \(location ?? "missing"): the server got \(server.requests.count) requests")
        }
      }
    },
    Self("the method and the body change as in a browser", unless: .redirects) { subject in
      for (code, before, after) in [
        (301, "GET", "GET"), (302, "GET", "GET"), (303, "GET", "GET"), (307, "GET", "GET"), (308, "GET", "GET"),
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
        (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"),
        (302, "HEAD", "HEAD"), (301, "QUERY", "QUERY"), (302, "QUERY", "QUERY"), (303, "QUERY", "GET"),
        (307, "QUERY", "QUERY"),
      ] {
        try await expectMethod(subject, code: code, before: before, after: after)
      }
    },
    Self("credentials and never-indexed fields are not sent to another origin", unless: .redirects) { subject in
      try await MockServer.run { _ in
        .text("other")
      } body: { other in
        let url = other.url
        try await subject.serving { request in
          switch request.target {
          case "/out": .redirect(to: "\(url)/other")
          case "/in": .redirect(to: "/here")
          default: .text("here")
          }
        } body: { server, transport in
          _ = try await transport.send(server.request("/out", fields: secrets))
          let there = other.requests.first
          subject.expect(there?["X-Custom"] == "kept", "the other fields were not sent on")
          for name in secretNames { subject.expect(there?[name] == nil, "\(name) was sent to another origin") }
          _ = try await transport.send(server.request("/in", fields: secrets))
          let here = server.requests.last
          for name in secretNames {
            subject.expect(here?[name] == "secret", "\(name) was not sent on within its origin")
          }
        }
      }
    },
    Self("credentials are not sent after a redirect to another origin and back", unless: .redirects) { subject in
      try await MockServer.run {
        .redirect(to: "http://\($0["X-Custom"] ?? "")/back")
      } body: { other in
        let url = other.url
        try await subject.serving {
          $0.target == "/back" ? .text("back") : .redirect(to: "\(url)/")
        } body: { server, transport in
          var fields = secrets
          if let custom = HTTPField.Name("X-Custom") { fields[custom] = server.authority }
          let (_, body) = try await transport.send(server.request(fields: fields))
          subject.expect(body == Data("back".utf8), "the transport returned \(body.count) bytes")
          for name in secretNames {
            subject.expect(server.requests.last?[name] == nil, "\(name) was sent after the redirect back")
          }
        }
      }
    },
    Self("a write is not sent to another origin, and the redirect is the response", unless: .redirects) { subject in
      try await MockServer.run { _ in
        .text("other")
      } body: { other in
        let url = other.url
        try await subject.serving { _ in
          .redirect(307, to: "\(url)/other")
        } body: { server, transport in
          for method in [HTTPRequest.Method.post, .put, .delete] {
            let (response, _) = try await transport.send(server.request(method: method), body: Data("{}".utf8))
            subject.expect(response.status == .temporaryRedirect, "\(method): the status is \(response.status)")
            subject.expect(other.requests.isEmpty, "\(method): the other origin got \(other.requests)")
          }
        }
      }
    },
    Self("a loop ends at the limit", unless: .redirects) { subject in
      for limit in [1, 5, 20] {
        try await subject.serving({ _ in .redirect(to: "/again") }, settings: .init(maximumRedirects: limit)) {
          server, transport in
          await subject.expectFailure(of: "a loop", .tooManyRedirects(limit: limit)) {
            try await transport.send(server.request())
          }
          subject.expect(server.requests.count == limit + 1, "the server got \(server.requests.count) requests")
        }
      }
    },
    Self("redirects are followed up to the limit; with a limit of 0, the redirect is the response", unless: .redirects)
    {
      subject in
      try await subject.serving(
        { $0.target == "/aaa" ? .text("there") : .redirect(to: $0.target + "a") }, settings: .init(maximumRedirects: 3)
      ) { server, transport in
        let (_, body) = try await transport.send(server.request())
        subject.expect(body == Data("there".utf8), "the transport returned \(body.count) bytes")
        let (response, moved) = try await subject.make(.init(maximumRedirects: 0)).send(server.request())
        subject.expect(response.status == .found && moved == Data("moved".utf8), "\(response.status)")
      }
    },
  ]

  private static let secretNames = ["Authorization", "Cookie", "Proxy-Authorization", "X-Key"]

  private static let secrets: HTTPFields = {
    var fields = HTTPFields()
    for name in secretNames.compactMap({ HTTPField.Name($0) }) {
      var field = HTTPField(name: name, value: "secret")
      if name.rawName == "X-Key" { field.indexingStrategy = .disallow }
      fields.append(field)
    }
    if let custom = HTTPField.Name("X-Custom") { fields[custom] = "kept" }
    return fields
  }()

  private static func expectMethod(
    _ subject: TransportConformance.Subject, code: Int, before: String, after: String
  ) async throws {
    let body = before == "GET" || before == "HEAD" ? nil : Data("{}".utf8)
    try await subject.serving { request in
      guard request.target == "/" else { return request.method == "HEAD" ? .head(announcing: 0) : .text("there") }
      return .status(code, fields: [("Location", "/there")])
    } body: { server, transport in
      let fields: HTTPFields = [.contentType: "application/json", .accept: "text/html"]
      _ = try await transport.send(
        server.request(method: HTTPRequest.Method(before) ?? .get, fields: fields), body: body)
      let what = "\(before) after \(code)"
      let second = server.requests.last
      subject.expect(server.requests.count == 2, "\(what): the server got \(server.requests.count) requests")
      subject.expect(
        second?.method == after, "\(what): the next method is \(second?.method ?? "missing"), not \(after)")
      subject.expect(
        second?.body == (before == after ? body ?? Data() : Data()), "\(what): the next request has another body")
      subject.expect(
        second?["Content-Type"] == (before == after ? "application/json" : nil),
        "\(what): the next Content-Type is \(second?["Content-Type"] ?? "missing")")
      subject.expect(second?["Accept"] == "text/html", "\(what): Accept was not sent on")
    }
  }
}
