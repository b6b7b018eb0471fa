import Foundation
import HTTPTypes
import ReactorCore

/// Requests on the wire.
extension TransportConformance.Check {
  static let requests = [
    Self("the target goes over the wire byte for byte") { subject in
      let targets = [
        "/", "/a%2Fb?x=%2B", "/a%2fb", "/%E2%82%AC/%C3%A9", "/a+b;c=1,2:3@4!$&'()*~", "/?", "/?a=1&a=2&b=&c", "/a//b/",
        "/documents:batchGet?q=a/b?c", "/a%00b", "/%25", "/a?x=%5B1%5D", "/.well-known/x",
        "/" + String(repeating: "a", count: 8_000),
      ]
      try await subject.serving { _ in
        .text("x")
      } body: { server, transport in
        for target in targets {
          _ = try await transport.send(server.request(target))
          let received = server.requests.last?.target ?? "nothing"
          subject.expect(received == target, "\(target.prefix(100)) went as \(received.prefix(100))")
        }
      }
    },
    Self("any method goes out with its body") { subject in
      let large = Data(repeating: 65, count: 2_500_000)
      try await subject.serving { _ in
        .text("x")
      } body: { server, transport in
        for name in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "PROPFIND", "MIXed-case"] {
          guard name != "GET" || !subject.exceptions.contains(.bodyWithGET) else { continue }
          for body in [Data("{}".utf8), large, Data(), nil] {
            _ = try await transport.send(
              server.request(method: HTTPRequest.Method(name) ?? .get, fields: [.contentType: "text/plain"]), body: body
            )
            let received = server.requests.last
            subject.expect(received?.method == name, "\(name) went as \(received?.method ?? "nothing")")
            subject.expect(
              received?.body == body ?? Data(), "\(name): the body came as \(received?.body.count ?? 0) bytes")
            subject.expect(received?["Content-Type"] == "text/plain", "\(name): Content-Type is lost")
          }
        }
      }
    },
    Self("all fields of the request are sent") { subject in
      var fields: HTTPFields = [
        .authorization: "Bearer t", .accept: "application/json", .ifNoneMatch: "\"1\"", .cookie: "a=1",
        .acceptLanguage: "de", .userAgent: "tests",
      ]
      for (name, value) in [("X-Custom", "Ænima"), ("Cache-Control", "no-cache"), ("Cache-Control", "no-store")] {
        if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
      }
      let sent = fields
      try await subject.serving { _ in
        .text("x")
      } body: { server, transport in
        _ = try await transport.send(server.request(fields: sent))
        let received = server.requests.first
        for name in Set(sent.map(\.name)) {
          let values = received?.headers.filter { $0.name.lowercased() == name.canonicalName }.map(\.value) ?? []
          subject.expect(values.joined(separator: ", ") == sent[name], "\(name) came as \(values)")
        }
        subject.expect(received?["Host"] == server.authority, "Host is \(received?["Host"] ?? "missing")")
      }
    },
    Self("what has no address is an invalid resource") { subject in
      for (scheme, authority, path) in [
        ("ftp", "127.0.0.1", "/"), ("file", "", "/etc/passwd"), (nil, "127.0.0.1", "/"), ("http", nil, "/"),
        ("http", "", "/"), ("http", "127.0.0.1:99999999", "/"), ("http", "127.0.0.1", nil),
      ] as [(String?, String?, String?)] {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        let error = await subject.failure(of: "\(request)") { try await subject.make(.init()).send(request) }
        guard case ReactorError.invalidResource? = error else {
          subject.expect(false, "\(request): threw \(String(describing: error))")
          continue
        }
      }
    },
    Self("nothing is answered from a cache, and no cookie is kept") { subject in
      try await subject.serving { _ in
        .text("x", fields: [("Cache-Control", "max-age=3600"), ("Set-Cookie", "id=7; Path=/")])
      } body: { server, transport in
        for _ in 0..<3 { _ = try await transport.send(server.request()) }
        subject.expect(server.requests.count == 3, "\(server.requests.count) requests")
        subject.expect(server.requests.allSatisfy { $0["Cookie"] == nil }, "the cookie came back")
      }
    },
    Self("a 401 is an answer with its body, whatever it asks for") { subject in
      for challenges in [
        [], ["Basic realm=\"news\""], ["Basic"], ["Bearer realm=\"x\", error=\"invalid_token\""],
        ["Digest realm=\"x\", nonce=\"y\""], ["Negotiate"], [""], ["Basic realm="], ["Basic realm=\"a\"", "Bearer"],
      ] {
        try await subject.serving { _ in
          .status(401, fields: challenges.map { ("WWW-Authenticate", $0) }, body: Data("who?".utf8))
        } body: { server, transport in
          for _ in 0..<2 {
            let (response, body) = try await transport.send(server.request(fields: [.authorization: "Bearer old"]))
            subject.expect(response.status == .unauthorized && body == Data("who?".utf8), "\(challenges): \(response)")
          }
          subject.expect(server.requests.count == 2, "\(challenges): \(server.requests.count) requests")
        }
      }
    },
  ]
}
