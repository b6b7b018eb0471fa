import NIOHTTP1
import Testing

@testable import reactor

@Suite struct `The fields that a proxy hands on` {
  /// `HTTPFields` ends the process at 65,535, and an older SwiftNIO does not count.
  @Test(arguments: [(0, true), (4_096, true), (4_097, false), (70_000, false)])
  func `too many fields are not forwarded`(count: Int, isKept: Bool) {
    let fields = EndToEndFields.of(HTTPHeaders((0..<count).map { ("a\($0)", "") }))
    #expect(fields?.count == (isKept ? count : nil))
  }
}
