import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Requests on the wire.
extension TransportConformance.Check {
  static let requests = [
    Self("the target is sent byte for byte") { subject in
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
          subject.expect(received == target, "the target \(target.prefix(100)) was sent as \(received.prefix(100))")
        }
      }
    },
    Self("any method is sent with its body") { subject in
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
            subject.expect(received?.method == name, "\(name) was sent as \(received?.method ?? "nothing")")
            subject.expect(
              received?.body == body ?? Data(), "\(name): the server got a body of \(received?.body.count ?? 0) bytes")
            subject.expect(received?["Content-Type"] == "text/plain", "\(name): Content-Type was not sent")
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
          subject.expect(values.joined(separator: ", ") == sent[name], "the server got \(name) as \(values)")
        }
        subject.expect(received?["Host"] == server.authority, "the field Host is \(received?["Host"] ?? "missing")")
      }
    },
    Self("a request without an address throws ReactorError.invalidResource") { subject in
      for (scheme, authority, path) in [
        ("ftp", "127.0.0.1", "/"), ("file", "", "/etc/passwd"), (nil, "127.0.0.1", "/"), ("http", nil, "/"),
        ("http", "", "/"), ("http", "127.0.0.1:99999999", "/"), ("http", "127.0.0.1", nil),
      ] as [(String?, String?, String?)] {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        let error = await subject.failure(of: "\(request)") { try await subject.make(.init()).send(request) }
        guard case ReactorError.invalidResource? = error else {
          subject.expect(false, "\(request): expected ReactorError.invalidResource, got \(error, default: "no error")")
          continue
        }
      }
    },
    Self("the transport caches no response and stores no cookie") { subject in
      try await subject.serving { _ in
        .text("x", fields: [("Cache-Control", "max-age=3600"), ("Set-Cookie", "id=7; Path=/")])
      } body: { server, transport in
        for _ in 0..<3 { _ = try await transport.send(server.request()) }
        subject.expect(server.requests.count == 3, "the server got \(server.requests.count) requests")
        subject.expect(server.requests.allSatisfy { $0["Cookie"] == nil }, "the transport sent a stored cookie")
      }
    },
    Self("a 401 is a response with its body, whatever its WWW-Authenticate") { subject in
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
          subject.expect(server.requests.count == 2, "\(challenges): the server got \(server.requests.count) requests")
        }
      }
    },
  ]
}
