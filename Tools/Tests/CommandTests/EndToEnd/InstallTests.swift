import CommandSupport
import Foundation
import Testing

@testable import reactor

/// The files below the prefix.
private let installedFiles = [
  "bin/reactor", "share/bash-completion/completions/reactor", "share/fish/vendor_completions.d/reactor.fish",
  "share/zsh/site-functions/_reactor",
]

/// `Tools/install`, which `make install` calls with an optimized program.
@Suite(.timeLimit(.minutes(5))) struct `An installed reactor` {
  private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../install")
    .standardizedFileURL
  private func install(_ arguments: String..., in directory: URL) async throws -> ChildProcess.Result {
    try await install(arguments, in: directory)
  }

  private func install(_ arguments: [String], in directory: URL) async throws -> ChildProcess.Result {
    try await ChildProcess.run(
      URL(filePath: "/bin/bash"), [Self.script.path(percentEncoded: false)] + arguments, directory: directory,
      deadline: .seconds(60))
  }

  private func files(in prefix: URL) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: prefix.path(percentEncoded: false))
      .filter { try prefix.appending(path: $0).resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true }
      .sorted()
  }

  /// Completes the words in bash, with what is installed.
  private func completions(of words: [String], prefix: URL, in directory: URL) async throws -> Set<Substring> {
    let script = """
      source "$1/share/bash-completion/completions/reactor"
      COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2)) COMP_LINE="${*:2}" COMP_POINT="${#COMP_LINE}"
      _reactor reactor "${@: -1}" "${@: -2:1}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let result = try await ChildProcess.run(
      URL(filePath: "/bin/bash"), ["-c", script, "bash", prefix.path(percentEncoded: false)] + words,
      directory: directory)
    #expect(result.error == "")
    return Set(String(decoding: result.output, as: UTF8.self).split(separator: "\n"))
  }

  @Test func `says its version, completes its words, and leaves no file when it is removed`() async throws {
    try await TemporaryDirectory.use { directory async throws in
      let prefix = directory.appending(path: "a prefix")
      let path = prefix.path(percentEncoded: false)
      #expect(try await install("check", path, in: directory).status == 0)
      let built = Command.executable.path(percentEncoded: false)
      for _ in 1...2 {
        let result = try await install("add", path, built, in: directory)
        #expect(result.status == 0 && result.error == "")
        #expect(try files(in: prefix) == installedFiles)
      }
      let program = prefix.appending(path: "bin/reactor")
      let version = try await ChildProcess.run(program, ["--version"], directory: directory)
      #expect(version.status == 0 && String(decoding: version.output, as: UTF8.self) == "\(ReactorVersion.text)\n")
      let size = try #require(try program.resourceValues(forKeys: [.fileSizeKey]).fileSize)
      #expect(size < (try #require(try Command.executable.resourceValues(forKeys: [.fileSizeKey]).fileSize)))

      let commands = try await completions(of: ["reactor", ""], prefix: prefix, in: directory)
      #expect(commands.isSuperset(of: ["fetch", "send", "outbox", "store", "proxy", "fleet"]))
      let options = try await completions(of: ["reactor", "fetch", "--he"], prefix: prefix, in: directory)
      #expect(options == ["--header", "--help"])
      let policies = try await completions(
        of: ["reactor", "fetch", "--policy", "cache"], prefix: prefix, in: directory)
      #expect(policies == ["cache-first", "cache-only"])
      let texts = try installedFiles.dropFirst().map {
        try String(contentsOf: prefix.appending(path: $0), encoding: .utf8)
      }
      #expect(texts[1].contains("complete -c 'reactor'") && texts[2].hasPrefix("#compdef reactor\n"))

      #expect(try await install("remove", path, in: directory).status == 0)
      #expect(try files(in: prefix).isEmpty)
      #expect(try await install("remove", path, in: directory).status == 0)
    }
  }

  @Test(arguments: installedFiles)
  func `replaces and removes no file of another program`(file: String) async throws {
    try await TemporaryDirectory.use { directory async throws in
      let prefix = directory.appending(path: "prefix")
      let path = prefix.path(percentEncoded: false)
      let other = prefix.appending(path: file)
      try FileManager.default.createDirectory(at: other.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("#!/bin/sh\necho another reactor\n".utf8).write(to: other)
      let built = Command.executable.path(percentEncoded: false)
      for arguments in [["check", path], ["add", path, built], ["remove", path]] {
        let result = try await install(arguments, in: directory)
        #expect(result.status == 1 && result.error.contains("\(path)/\(file)"))
        #expect(result.error.contains("is not of this command"), "\(result.error)")
        #expect(try String(contentsOf: other, encoding: .utf8).contains("another reactor"))
        #expect(try files(in: prefix) == [file])
      }
    }
  }

  @Test func `leaves nothing of a program that it cannot install`() async throws {
    try await TemporaryDirectory.use { directory async throws in
      let prefix = directory.appending(path: "prefix")
      let path = prefix.path(percentEncoded: false)
      for program in ["/bin/cat", Self.script.path(percentEncoded: false)] {
        let result = try await install("add", path, program, in: directory)
        #expect(result.status == 1 && result.error.contains("error: "), "\(result.error)")
        #expect(try files(in: prefix).isEmpty)
      }
    }
  }

  @Test func `is not built for a prefix that cannot be written to`() async throws {
    try await TemporaryDirectory.use { directory async throws in
      let file = directory.appending(path: "file")
      try Data().write(to: file)
      for prefix in [file.path(percentEncoded: false), "/proc/reactor", ""] {
        let result = try await install("check", prefix, in: directory)
        #expect(result.status == 1 && result.error.hasPrefix("error: ") && result.error.contains("PREFIX="))
      }
    }
  }
}
