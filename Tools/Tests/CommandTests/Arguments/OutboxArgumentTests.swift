import ArgumentParser
import Foundation
import HTTPTypes
import ReactorCore
import Testing

@testable import reactor

@Suite struct `The arguments of reactor send` {
  private static let needed = ["http://h/a", "--outbox", "outbox"]

  @Test func `are a POST in the lane main, a window of a day and an attempt of a minute without others`() throws {
    let command = try SendCommand.parse(Self.needed)
    #expect(command.url.absoluteString == "http://h/a")
    #expect(command.options.outbox == StoreArgument("outbox"))
    #expect(command.method == .post && command.lane == "main" && command.body == nil && command.headers.isEmpty)
    #expect(command.idempotencyWindow == .seconds(86_400) && command.timeout == .seconds(60) && command.wait == nil)
  }

  @Test func `the arguments of reactor send are taken as they are given`() throws {
    let command = try SendCommand.parse(
      Self.needed + [
        "--method", "patch", "--body", "--text", "--header", "A: 1", "--header", "A: 2", "--lane", "uploads",
        "--idempotency-window", "0s", "--timeout", "5s", "--wait", "0s",
      ])
    #expect(command.method == .patch && command.body == .bytes(Data("--text".utf8)) && command.lane == "uploads")
    #expect(command.headers.map(\.value) == ["1", "2"])
    #expect(command.idempotencyWindow == .zero && command.timeout == .seconds(5) && command.wait == .zero)
  }

  @Test func `the arguments of reactor send name an outbox`() {
    #expect(throws: (any Error).self) { try SendCommand.parse(["http://h/a"]) }
    #expect(throws: (any Error).self) { try SendCommand.parse(["http://h/a", "--outbox", ""]) }
  }

  @Test(arguments: ["get", "HEAD"]) func `name no method that only reads`(method: String) throws {
    #expect(throws: (any Error).self) { try SendCommand.parse(Self.needed + ["--method", method]) }
  }

  @Test(arguments: [
    ["--timeout", "0s"], ["--timeout", "soon"], ["--wait", "-1s"], ["--idempotency-window", "1d"], ["--lane", ""],
    ["--header", "A"], ["--method", "PO ST"], ["--body", "@/nowhere/at/all"],
  ])
  func `the arguments of reactor send are refused where they mean nothing`(arguments: [String]) {
    #expect(throws: (any Error).self) { try SendCommand.parse(Self.needed + arguments) }
  }

  @Test(arguments: ["http://user:secret@h/", "http://user@h/", "ftp://h/", "h/a", ""])
  func `the arguments of reactor send have an http URL without a user`(url: String) {
    let error = #expect(throws: (any Error).self) { try SendCommand.parse([url, "--outbox", "outbox"]) }
    #expect(!"\(String(describing: error))".contains("Authorization"))
  }
}

@Suite struct `The arguments of reactor outbox` {
  @Test func `drain for half a minute, with attempts of a minute, without others`() throws {
    let command = try OutboxDrainCommand.parse(["--outbox", "a.sqlite"])
    #expect(command.within == .seconds(30) && command.timeout == .seconds(60) && !command.trace)
    #expect(command.options.outbox == StoreArgument("a.sqlite"))
    #expect(try OutboxDrainCommand.parse(["--outbox", "a", "--within", "0s", "--trace"]).within == .zero)
  }

  @Test func `the arguments of reactor outbox name an entry for what is decided about one`() throws {
    #expect(try OutboxRetryCommand.parse(["--outbox", "a", "1"]).entry.id == "1")
    #expect(try OutboxDiscardCommand.parse(["2", "--outbox", "a"]).entry.id == "2")
    #expect(try OutboxWithdrawCommand.parse(["--outbox", "a", "3"]).entry.id == "3")
    #expect(throws: (any Error).self) { try OutboxWithdrawCommand.parse(["--outbox", "a"]) }
  }
}

@Suite struct `A credential of the outbox` {
  private func signed(_ url: String, _ credential: OutboxCredential?) throws -> [String] {
    let url = try #require(URL(string: url))
    var request = HTTPRequest(
      method: .post, scheme: url.scheme, authority: url.port.map { "\(url.host() ?? ""):\($0)" } ?? url.host(),
      path: "/", headerFields: [.authorization: "old"])
    credential?.sign(&request)
    return request.headerFields[values: .authorization]
  }

  private let fields = [HTTPField(name: .authorization, value: "Bearer 1")]

  @Test func `a credential of the outbox is added to requests to its origin, and to no other`() throws {
    let credential = try OutboxCredential.for([], fields, origin: try OriginArgument.parse("https://a.example"))
    #expect(try signed("https://a.example", credential) == ["Bearer 1"])
    #expect(try signed("https://A.example:443", credential) == ["Bearer 1"])
    for other in ["http://a.example", "https://a.example:8443", "https://b.example"] {
      #expect(try signed(other, credential) == ["old"])
    }
  }

  @Test func `without fields or entries, there is no credential`() throws {
    #expect(try OutboxCredential.for([], [], origin: "https://a.example:443") == nil)
    #expect(try OutboxCredential.for([], fields, origin: nil) == nil)
  }

  @Test func `a credential of the outbox is the variable of the environment`() throws {
    #expect(try OutboxCredential.ofEnvironment([:]) == nil)
    #expect(try OutboxCredential.ofEnvironment([OutboxCredential.variable: ""]) == nil)
    #expect(try OutboxCredential.ofEnvironment([OutboxCredential.variable: "Bearer 1"])?.value == "Bearer 1")
    #expect(throws: ExitStatus.self) { try OutboxCredential.ofEnvironment([OutboxCredential.variable: "a\nb"]) }
  }
}
