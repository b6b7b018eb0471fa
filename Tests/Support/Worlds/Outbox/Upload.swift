import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting

/// The form of an errand: a text, data and, mostly, a file, which may change or go at any time.
struct Upload: Sendable {
  /// What happens at one of the calls that copy the form.
  struct Trouble: Sendable {
    enum Kind: CaseIterable { case full, crash, replace, grow, cut, remove }

    var kind: Kind
    /// The calls that pass before.
    var calls: Int
  }

  let mark: Int
  let parts: [MultipartBody.Part]
  let file: URL?
  let trouble: Trouble?
  /// The whole contents that the file has had, from the submission on.
  var versions: [Data]
  /// The file was removed, or became longer or shorter.
  var isTouched = false

  private static let fileName = "photo"

  init(of errand: Errand, in directory: URL, _ trouble: Trouble?, _ draws: SeededDraws) throws {
    mark = errand.mark
    self.trouble = trouble
    let photo = Self.bytes(draws)
    let hasFile = draws.chance(0.8)
    file = hasFile ? directory.appending(path: "\(errand.mark).jpg") : nil
    versions = hasFile ? [photo] : []
    var parts = [
      MultipartBody.Part(name: "title", bytes: Data(errand.title.utf8)),
      MultipartBody.Part(name: "details", contentType: "application/octet-stream", bytes: Self.bytes(draws)),
    ]
    if let file {
      let part = MultipartBody.Part(
        name: Self.fileName, fileName: file.lastPathComponent, contentType: "image/jpeg", bytes: Data())
      parts.insert(part, at: draws.number(below: 3))
    }
    self.parts = parts
    if let file { try photo.write(to: file) }
  }

  /// Few bytes or none, and sometimes more than a copy reads at once. Some end like a form.
  private static func bytes(_ draws: SeededDraws) -> Data {
    let size = draws.chance(0.02) ? 300_000 : draws.element(of: [0, 1, 40, 700]) ?? 0
    let first = UInt8(draws.number(below: 256))
    return Data((0..<size).map { first &+ UInt8(truncatingIfNeeded: $0 &* 7) }) + Data("\r\n--".utf8.prefix(size % 5))
  }

  var request: OutboxRequest {
    let form = MultipartForm(
      parts.map { part in
        if part.name == Self.fileName, let file { return .file(part.name, at: file, contentType: "image/jpeg") }
        guard let type = part.contentType else { return .field(part.name, String(decoding: part.bytes, as: UTF8.self)) }
        return .data(part.name, part.bytes, contentType: type)
      })
    let url = URL(string: "https://api.example.com\(Self.path)") ?? URL(filePath: "/")
    return OutboxRequest(url: url, headerFields: [.mark: "\(mark)"], form: form)
  }

  static let path = "/photos"

  /// Returns a Boolean value that indicates whether a body is this form, with one whole content of
  /// the file.
  func matches(_ body: Data, contentType: String) -> Bool {
    guard var found = try? MultipartBody(body, contentType: contentType).parts else { return false }
    if let index = found.firstIndex(where: { $0.name == Self.fileName }), versions.contains(found[index].bytes) {
      found[index].bytes = Data()
    }
    return found == parts
  }

  /// Does with the file what users and other programs do.
  mutating func change(_ kind: Trouble.Kind) throws {
    guard let file, let old = versions.last, FileManager.default.fileExists(atPath: file.path()) else { return }
    switch kind {
    case .full, .crash: break
    case .replace:
      let new = Data("another \(versions.count)".utf8)
      try new.write(to: file, options: .atomic)
      versions.append(new)
    case .grow:
      let handle = try FileHandle(forWritingTo: file)
      try handle.seekToEnd()
      try handle.write(contentsOf: Data("more".utf8))
      try handle.close()
      versions.append(old + Data("more".utf8))
      isTouched = true
    case .cut:
      let handle = try FileHandle(forWritingTo: file)
      try handle.truncate(atOffset: UInt64(old.count / 2))
      try handle.close()
      versions.append(old.prefix(old.count / 2))
      isTouched = true
    case .remove:
      try FileManager.default.removeItem(at: file)
      isTouched = true
    }
  }
}
