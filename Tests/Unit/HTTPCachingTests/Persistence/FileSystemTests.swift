import Foundation
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `A directory that is made` {
  @Test func `a directory that is made is not left behind where its name could not be synchronised`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(percentEncoded: false)
      let system = FileSystem { operation, _ in operation == .synchronize ? .error(EIO) : nil }
      let error = #expect(throws: FilePersistence.Failure.self) { try system.makeDirectory(path, synchronizes: true) }
      #expect(error?.operation == .synchronize && error?.code == EIO)
      let left = try system.inspect(path)
      #expect(left == nil)
    }
  }

  @Test(arguments: [(FilePersistence.Failure.Operation.open, EACCES), (.synchronize, EINVAL), (.synchronize, ENOTSUP)])
  func `a directory stays whose name could not be synchronised`(
    _ operation: FilePersistence.Failure.Operation, _ code: Int32
  ) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appending(path: "a/b").path(percentEncoded: false)
      let system = FileSystem { $0 == operation && $1 != path ? .error(code) : nil }
      try system.makeDirectory(path, synchronizes: true)
      #expect(try system.inspect(path)?.isDirectory == true)
    }
  }

  @Test func `a directory that is made may be a link to one, and no file`() async throws {
    try await withTemporaryDirectory { directory in
      let (there, link) = (directory.appending(path: "there"), directory.appending(path: "link"))
      let system = FileSystem()
      try system.makeDirectory(there.path(percentEncoded: false), synchronizes: true)
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: there)
      try system.makeDirectory(link.path(percentEncoded: false), synchronizes: true)
      let file = directory.appending(path: "file").path(percentEncoded: false)
      _ = try system.create(file)
      let error = #expect(throws: FilePersistence.Failure.self) { try system.makeDirectory(file, synchronizes: true) }
      #expect(error?.code == ENOTDIR)
    }
  }
}
