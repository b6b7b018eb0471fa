import Foundation
import HTTPCaching
import ReactorLoopback
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(5))) struct `A multipart form` {
  /// Returns the bytes of a form with the boundary `B`.
  private func text(_ form: MultipartForm, _ system: FileSystem = FileSystem()) throws -> String {
    var bytes = Data()
    try form.encode(boundary: "B", system) { bytes.append(contentsOf: $0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func fileError(_ form: MultipartForm, _ system: FileSystem = FileSystem()) throws -> MultipartForm.FileError {
    try #require(throws: MultipartForm.FileError.self) { try text(form, system) }
  }

  private func failure(_ body: () async throws -> Void) async -> (any Error)? {
    do {
      try await body()
      return nil
    } catch {
      return error
    }
  }

  /// Calls `body` with a file of this size.
  private func withFile(_ size: Int, _ body: (URL) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let file = directory.appending(path: "photo.jpg")
      try Data(count: size).write(to: file)
      try await body(file)
    }
  }

  @Test func `a multipart form has the bytes of RFC 7578`() async throws {
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let file = directory.appending(path: "sunset.jpg")
      try Data("JPEG".utf8).write(to: file)
      let form: MultipartForm = [
        .field("title", "Größe"), .data("meta", Data("{}".utf8), contentType: "application/json"),
        .file("photo", at: file, contentType: "image/jpeg"),
      ]
      let expected = [
        "--B", "Content-Disposition: form-data; name=\"title\"", "", "Größe",
        "--B", "Content-Disposition: form-data; name=\"meta\"", "Content-Type: application/json", "", "{}",
        "--B", "Content-Disposition: form-data; name=\"photo\"; filename=\"sunset.jpg\"", "Content-Type: image/jpeg",
        "",
        "JPEG", "--B--", "",
      ]
      #expect(try text(form) == expected.joined(separator: "\r\n"))
    }
  }

  @Test func `a multipart form without parts has only its end`() throws {
    #expect(try text([]) == "--B--\r\n")
  }

  @Test(arguments: [
    ("a\"b", "a%22b"), ("a\r\nX-Evil: 1", "a%0D%0AX-Evil: 1"), ("a\nb\rc\u{0}d\u{7F}", "a%0Ab%0Dc%00d%7F"),
    ("Grüße 夕焼け 🌇", "Grüße 夕焼け 🌇"), ("50 %", "50 %"), ("a\\b;c='d'", "a\\b;c='d'"), ("", ""),
  ])
  func `a multipart form quotes names and file names as browsers do`(name: String, quoted: String) throws {
    let form: MultipartForm = [.data(name, Data(), fileName: name)]
    #expect(try text(form).contains("form-data; name=\"\(quoted)\"; filename=\"\(quoted)\"\r\n"))
    let part = try #require(
      MultipartBody(Data(try text(form).utf8), contentType: MultipartForm.contentType(boundary: "B")).parts.first)
    #expect(part.name == quoted && part.fileName == quoted)
  }

  @Test(arguments: ["", "a\r\nX-Evil: 1", "text/plain\n"])
  func `a multipart form refuses a content type that is no field value`(type: String) {
    #expect {
      try text([.data("a", Data(), contentType: type)])
    } throws: { error in
      guard case ReactorError.invalidResource(let reason) = error else { return false }
      return reason.contains("content type of the part a")
    }
  }

  @Test func `the boundary of a multipart form needs no quotes in a header field`() {
    let boundaries = (0..<100).map { _ in MultipartForm().makeBoundary() }
    #expect(Set(boundaries).count == 100)
    #expect(boundaries.allSatisfy { $0.count <= 70 && $0.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" } })
  }

  @Test func `a multipart form names the part whose file is missing or no file`() async throws {
    let missing = try fileError([.file("photo", at: URL(filePath: "/nowhere/sunset.jpg"))])
    #expect(missing.reason == .missing && missing.part == "photo" && missing.file.path() == "/nowhere/sunset.jpg")
    #expect(
      "\(missing)"
        == "the file sunset.jpg of the part photo does not exist, so nothing was sent; choose a file again")
    let directory = try fileError([.file("photo", at: FileManager.default.temporaryDirectory)])
    #expect(directory.reason == .unreadable("it is not a regular file"))
    let remote = try fileError([.file("photo", at: try #require(URL(string: "https://example.com/a")))])
    #expect(remote.reason == .unreadable("its URL is not a file URL"))
  }

  @Test func `a multipart form does not wait for the writer of a pipe`() async throws {
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let pipe = directory.appending(path: "pipe")
      #expect(mkfifo(pipe.path(), 0o600) == 0)
      #expect(try fileError([.file("photo", at: pipe)]).reason == .unreadable("it is not a regular file"))
    }
  }

  @Test(arguments: [("shorter", 1), ("longer", 600_000)])
  func `a multipart form refuses a file whose length changes while it is copied`(change: String, size: Int) async throws
  {
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let file = directory.appending(path: "growing")
      try Data(count: 500_000).write(to: file)
      let reads = Tick()
      let system = FileSystem { operation, path in
        // Its first read moves to the place of the second piece.
        if operation == .read, path == file.path(), reads.next() == 3 { _ = truncate(path, off_t(size)) }
        return nil
      }
      let error = try fileError([.file("photo", at: file)], system)
      #expect(error.reason == .changed)
      #expect("\(error)".contains("try again once it is complete"))
    }
  }

  @Test func `a multipart form distinguishes an unreadable file from a copy that cannot be written`() async throws {
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let file = directory.appending(path: "a")
      try Data(count: 10).write(to: file)
      let form: MultipartForm = [.field("b", "c"), .file("photo", at: file)]
      let broken = FileSystem { operation, path in operation == .read && path == file.path() ? .error(EIO) : nil }
      #expect(try fileError(form, broken).reason == .unreadable(String(cString: strerror(EIO))))
      let full = FileSystem { operation, _ in operation == .write ? .error(ENOSPC) : nil }
      let error = try #require(
        await failure { _ = try await EncodedForm.encoding(form, full) } as? MultipartForm.FileError)
      #expect(error.reason == .notCopied(String(cString: strerror(ENOSPC))) && error.part == nil)
      #expect("\(error)".contains("free some space"))
    }
  }

  @Test func `the copy of a form's files has no name while it is written`() async throws {
    try await withFile(600_000) { file in
      let calls = Shared<[String]>([])
      let system = FileSystem { operation, path in
        if path.contains("reactor-form-") { calls.change { $0.append("\(operation)") } }
        return nil
      }
      let encoded = try await EncodedForm.encoding([.file("photo", at: file)], system)
      #expect(encoded.body.count > 600_000)
      #expect(calls.value.prefix(3) == ["create", "remove", "write"])
    }
  }

  @Test func `a form's files are copied on a thread of no task`() async throws {
    try await withFile(600_000) { file in
      let isInTask = Shared<[Bool]>([])
      let system = FileSystem { operation, path in
        if operation == .read { isInTask.change { $0.append(withUnsafeCurrentTask { $0 != nil }) } }
        return nil
      }
      _ = try await EncodedForm.encoding([.file("photo", at: file)], system)
      #expect(isInTask.value.count > 3 && !isInTask.value.contains(true))
    }
  }

  @Test func `a copy of a form ends between two pieces when its caller is cancelled`() async throws {
    try await withFile(2 << 20) { file in
      let (reads, reached, cancelled) = (Tick(), Gate(), Latch())
      let system = FileSystem { operation, path in
        // Each piece is read by two calls: one moves to its place.
        if operation == .read, path == file.path(), reads.next() == 2 {
          reached.open()
          cancelled.block()
        }
        return nil
      }
      let copy = Task { await failure { _ = try await EncodedForm.encoding([.file("photo", at: file)], system) } }
      try await reached.wait()
      copy.cancel()
      cancelled.open()
      #expect(await copy.value is CancellationError)
      #expect(reads.next() == 3)
    }
  }

  @Test func `a copy that waits for others leaves at once when its caller is cancelled`() async throws {
    let (copies, others, begun, allBegun) = (FileCopies(), Latch(), Tick(), Gate())
    let running = (0..<FileCopies.limit).map { _ in
      Task<Void, any Error> {
        try await copies.run { _ in
          if begun.next() == FileCopies.limit { allBegun.open() }
          others.block()
        }
      }
    }
    try await allBegun.wait()
    let hasBegun = Shared(false)
    let last = Task { () -> (any Error)? in
      await failure { try await copies.run { _ in hasBegun.change { $0 = true } } }
    }
    last.cancel()
    #expect(await last.value is CancellationError)
    others.open()
    for copy in running { try await copy.value }
    #expect(!hasBegun.value)
  }

  @Test func `a copy that takes long holds up no other while a thread is idle`() async throws {
    let (copies, answers, begun) = (FileCopies(), Latch(), Gate())
    let slow = Task<Void, any Error> {
      try await copies.run { _ in
        begun.open()
        answers.block()
      }
    }
    try await begun.wait()
    for number in 0..<2 * FileCopies.limit { #expect(try await copies.run { _ in number } == number) }
    // More than there are threads, which take turns on the others.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { try await copies.run { _ in } } }
      try await group.waitForAll()
    }
    answers.open()
    try await slow.value
  }

  @Test func `a printed multipart form shows no content`() {
    let form: MultipartForm = [.field("password", "s3cret"), .data("a", Data("s3cret".utf8))]
    var text = "\(form) \(String(reflecting: form)) "
    dump(form, to: &text)
    #expect(!text.contains("s3cret") && text.contains("password"))
  }

  @Test func `a resource's form and body replace each other`() {
    var resource = Resource("photos", form: [.field("a", "b")])
    #expect(resource.method == .post && resource.form == [.field("a", "b")] && resource.body == nil)
    resource.body = Data("c".utf8)
    #expect(resource.form == nil)
    resource.form = [.field("a", "c")]
    #expect(resource.body == nil && resource != Resource("photos", form: [.field("a", "b")]))
    #expect(resource == Resource("photos", form: [.field("a", "c")]))
  }
}
