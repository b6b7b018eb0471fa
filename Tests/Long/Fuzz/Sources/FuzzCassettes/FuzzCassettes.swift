import Foundation
import FuzzSupport
import HTTPTypes
import ReactorCore

@testable import ReactorTesting

/// A cassette is read as it was written, and what is redacted holds no secret.
@c(LLVMFuzzerTestOneInput) public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Input(start, count)
  let cassette: Cassette
  do throws(CassetteError) { cassette = try Cassette(input.data) } catch {
    check(!error.description.isEmpty, "an error without words")
    return 0
  }
  let written = succeed("not written") { try cassette.data() }
  let again = succeed("not read again") { try Cassette(written) }
  check(again == cassette, "\(again) after \(cassette)")
  check(succeed("not written again") { try again.data() } == written, "two files of one cassette")
  for exchange in cassette.exchanges { checkSecrets(exchange) }
  // A URL of two lines is two lines of a difference.
  checkMatching(cassette.exchanges.map(\.request).filter { !$0.url.contains(where: \.isNewline) })
  return 0
}

private func checkSecrets(_ exchange: Cassette.Exchange) {
  let secrets = CassetteSecrets(queryItems: ["token"])
  let redacted = secrets.redacted(exchange)
  check(secrets.redacted(redacted) == redacted, "redacted twice: \(redacted)")
  for field in redacted.request.fields where secrets.fields.contains(field.name) {
    check(field.value == "redacted", "a secret field: \(field)")
  }
  for start in ["?", "&", "#"] {
    let values = redacted.request.url.components(separatedBy: "\(start)token=").dropFirst()
    check(values.allSatisfy { $0.hasPrefix("redacted") }, "a secret in \(redacted.request.url)")
  }
}

private func checkMatching(_ requests: [Cassette.Request]) {
  let lines = requests.map { CassetteRequestLines($0, [.accept]) }
  for own in lines.prefix(8) {
    check(own.distance(to: own) == 0, "far from itself")
    for other in lines.prefix(8) {
      let difference = own.difference(from: other)
      let lines = difference.split(separator: "\n")
      if own == other { check(lines.allSatisfy { $0.hasPrefix("  ") }, "a difference: \(difference)") }
    }
  }
}
