import Foundation
import HTTPTypes
import ReactorCore

/// Redirects as browsers follow them (RFC 9110 §15.4).
extension TransportConformance.Check {
  static let redirects = [
    Self("a Location is resolved against the request", unless: .redirects) { subject in
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
    Self("a Location that cannot be followed, or none, makes the redirect the answer", unless: .redirects) { subject in
      for location in [
        nil, "", "mailto:a@example.com", "ftp://example.com/x", "file:///etc/passwd", "http://[bad", "http:///x",
      ] {
        try await subject.serving { _ in
          .status(302, fields: location.map { [("Location", $0)] } ?? [], body: Data("moved".utf8))
        } body: { server, transport in
          let (response, body) = try await transport.send(server.request())
          subject.expect(response.status == .found, "\(location ?? "none"): \(response.status)")
          let isDropped = subject.exceptions.contains(.bodyOfAimlessRedirect)
          subject.expect(isDropped || body == Data("moved".utf8), "\(location ?? "none"): \(body.count) bytes")
          subject.expect(server.requests.count == 1, "\(location ?? "none"): \(server.requests.count) requests")
        }
      }
    },
    Self("the method and the body follow as in a browser", unless: .redirects) { subject in
      for (code, before, after) in [
        (301, "GET", "GET"), (302, "GET", "GET"), (303, "GET", "GET"), (307, "GET", "GET"), (308, "GET", "GET"),
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
        (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"),
        (302, "HEAD", "HEAD"),
      ] {
        try await expectMethod(subject, code: code, before: before, after: after)
      }
    },
    Self("credentials and fields that are never indexed stay with their origin", unless: .redirects) { subject in
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
          subject.expect(there?["X-Custom"] == "kept", "the other fields are gone")
          for name in secretNames { subject.expect(there?[name] == nil, "\(name) left its origin") }
          _ = try await transport.send(server.request("/in", fields: secrets))
          let here = server.requests.last
          for name in secretNames { subject.expect(here?[name] == "secret", "\(name) is lost at its own origin") }
        }
      }
    },
    Self("credentials that left do not come back", unless: .redirects) { subject in
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
          subject.expect(body == Data("back".utf8), "got \(body.count) bytes")
          for name in secretNames { subject.expect(server.requests.last?[name] == nil, "\(name) came back") }
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
          subject.expect(server.requests.count == limit + 1, "\(server.requests.count) requests")
        }
      }
    },
    Self("as many redirects as the limit are followed; with none, the redirect is the answer", unless: .redirects) {
      subject in
      try await subject.serving(
        { $0.target == "/aaa" ? .text("there") : .redirect(to: $0.target + "a") }, settings: .init(maximumRedirects: 3)
      ) { server, transport in
        let (_, body) = try await transport.send(server.request())
        subject.expect(body == Data("there".utf8), "got \(body.count) bytes")
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
      subject.expect(server.requests.count == 2, "\(what): \(server.requests.count) requests")
      subject.expect(second?.method == after, "\(what) became \(second?.method ?? "nothing")")
      subject.expect(second?.body == (before == after ? body ?? Data() : Data()), "\(what): another body")
      subject.expect(
        second?["Content-Type"] == (before == after ? "application/json" : nil),
        "\(what): \(second?["Content-Type"] ?? "no type")")
      subject.expect(second?["Accept"] == "text/html", "\(what): Accept is lost")
    }
  }
}
