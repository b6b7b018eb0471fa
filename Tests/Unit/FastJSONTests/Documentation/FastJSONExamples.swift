import FastJSON
import Foundation

// The Swift code of FastJSON.docc, which a test compares with it.

private struct Article: Codable {
  let title: String
}

private func setUp(_ data: Data) throws {
  let decoder = FastJSONDecoder()
  decoder.keyDecodingStrategy = .convertFromSnakeCase
  decoder.dateDecodingStrategy = .iso8601
  let articles = try decoder.decode([Article].self, from: data)
  _ = articles
}

private func takeOver(_ existing: JSONDecoder) {
  let decoder = FastJSONDecoder(existing)
  _ = decoder
}

private func write(_ articles: [Article]) throws {
  let encoder = FastJSONEncoder()
  encoder.outputFormatting = .sortedKeys
  encoder.dateEncodingStrategy = .iso8601
  let data = try encoder.encode(articles)
  _ = data
}

private func takeOver(_ existing: JSONEncoder) {
  let encoder = FastJSONEncoder(existing)
  _ = encoder
}

private func explain(_ decoder: FastJSONDecoder, _ data: Data) throws {
  do {
    _ = try decoder.decode([Article].self, from: data)
  } catch let DecodingError.typeMismatch(_, context) {
    let byte = (context.underlyingError as? FastJSONError)?.byteOffset
    print("not an article at byte \(byte ?? 0)")
  }
}
