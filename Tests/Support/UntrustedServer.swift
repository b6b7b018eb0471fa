public import Foundation
import ReactorTesting

/// A TLS server on 127.0.0.1 that shows a page, by `openssl s_server`, with a certificate that it
/// has signed itself a moment ago.
public final class UntrustedServer {
  public enum Failure: Error { case noCertificate, noPort }

  /// True if the machine has `openssl`.
  public static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: openssl) }

  private static let openssl = "/usr/bin/openssl"

  /// `127.0.0.1` and the port.
  public let authority: String
  /// In PEM.
  public let certificate: URL
  /// In PEM.
  public let key: URL
  private let server: Process
  private let directory: URL

  /// Runs `body` with a server that is ended afterwards.
  public static func run<Value>(_ body: (UntrustedServer) async throws -> Value) async throws -> Value {
    let server = try await UntrustedServer()
    defer { server.end() }
    return try await body(server)
  }

  private init() async throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "untrusted-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    (certificate, key) = (directory.appending(path: "certificate.pem"), directory.appending(path: "key.pem"))
    try await Self.makeCertificate(certificate, key: key)
    let output = Pipe()
    server = Self.process(
      ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate.path(), "-key", key.path(), "-www"], output: output)
    try server.run()
    authority = try await Self.authority(output.fileHandleForReading)
  }

  /// For localhost and 127.0.0.1, for a day.
  public static func makeCertificate(_ certificate: URL, key: URL) async throws {
    let process = process(
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key.path(), "-out",
        certificate.path(),
      ], output: Pipe())
    let ended = Latch()
    process.terminationHandler = { _ in ended.open() }
    try process.run()
    try await ended.wait()
    guard process.terminationStatus == 0 else { throw Failure.noCertificate }
  }

  private static func process(_ arguments: [String], output: Pipe) -> Process {
    let process = Process()
    process.executableURL = URL(filePath: openssl)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    return process
  }

  /// It says `ACCEPT 127.0.0.1:36035` once it listens.
  private static func authority(_ output: FileHandle) async throws -> String {
    let (said, text) = (Latch(), Shared(""))
    // Not on a thread of the tests: it blocks.
    Thread.detachNewThread {
      while address(in: text.value) == nil {
        let data = output.availableData
        guard !data.isEmpty else { break }
        text.change { $0 += String(decoding: data, as: UTF8.self) }
      }
      said.open()
    }
    try await said.wait()
    guard let address = address(in: text.value) else { throw Failure.noPort }
    return address
  }

  private static func address(in text: String) -> String? {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    return lines.first { $0.hasPrefix("ACCEPT ") }.map { String($0.dropFirst("ACCEPT ".count)) }
  }

  private func end() {
    // SIGTERM is blocked in a child that a thread of the concurrency pool has started.
    kill(server.processIdentifier, SIGKILL)
    try? FileManager.default.removeItem(at: directory)
  }
}
