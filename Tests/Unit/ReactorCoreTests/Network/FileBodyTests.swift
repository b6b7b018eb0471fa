import Foundation
import HTTPTypes
import ReactorCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A file as a body` {
  @Test func `a file as a body has the bytes of the file, and leaves the rest of the resource`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "body-\(UUID().uuidString)")
    try Data("hello".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let resource = Resource("a", method: .put, query: ["b": "c"])
    let sent = try resource.body(contentsOf: file)
    #expect(sent.body == Data("hello".utf8))
    #expect(resource.body == nil)
    #expect(sent.path == "a" && sent.method == .put && sent.query == resource.query)
  }

  @Test func `a file as a body that is not there is an invalid resource`() {
    #expect {
      try Resource("a").body(contentsOf: URL(filePath: "/nowhere/at/all"))
    } throws: { error in
      guard case ReactorError.invalidResource(let reason) = error else { return false }
      return reason.contains("all")
    }
  }
}
