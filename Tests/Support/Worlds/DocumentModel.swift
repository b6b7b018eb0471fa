import Foundation

/// A model of a document: each type has its own reactor, and they share the records.
protocol DocumentModel: Codable, Sendable {
  init(_ document: Document)
  var document: Document { get }
}

extension Document: DocumentModel {
  init(_ document: Document) { self = document }
  var document: Document { self }
}

/// Another type of the same bytes.
struct Sheet: DocumentModel {
  let document: Document

  init(_ document: Document) { self.document = document }
  init(from decoder: any Decoder) throws { document = try Document(from: decoder) }
  func encode(to encoder: any Encoder) throws { try document.encode(to: encoder) }
}

/// A document with its owner, and the type and language in which it is requested.
struct Place: Hashable, Sendable, CustomStringConvertible {
  enum Kind: String, CaseIterable, Sendable { case document, sheet }

  var owner: String
  var path: String
  var kind: Kind
  var language: String

  static let languages = ["en", "de"]

  var description: String { "\(owner)\(path) (\(kind), \(language))" }
}
