import FastJSON
import Foundation
import FuzzSupport

/// `FastJSONDecoder` reads what `JSONDecoder` reads, and fails as it does, but for the table of
/// differences in its documentation.
///
/// The first byte is the type, the next two the strategies, the fourth how the rest is meant: an
/// even number is JSON as it stands, an odd one choices from which ``TextWriter`` makes JSON that
/// fits the type.
@c(LLVMFuzzerTestOneInput) public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Input(start, count)
  var choices = Choices(input.bytes[...])
  let subject = Subject.all[choices.number(below: Subject.all.count)]
  let comparison = Comparison(subject, Settings(&choices))
  let isWritten = choices.byte() & 1 == 1
  guard isWritten else {
    let text = Array(input.bytes.dropFirst(4))
    let data = input.hash % 2 == 0 ? Data(text) : (Data([0]) + text).dropFirst()
    let outcome = comparison.run(Encoded(data, utf8: Encoded.utf8(of: text)))
    check(comparison.ours(data).lines == outcome.lines, "another outcome at the second time: \(outcome)")
    return 0
  }
  var writer = TextWriter(choices, comparison.settings.names)
  writer.write(subject.schema)
  let first = Encoded(text: writer.text, &writer.choices)
  let outcome = comparison.run(first)
  // The decoder learns from another text, and still makes the same of this one.
  var second = TextWriter(writer.choices, comparison.settings.names)
  second.write(subject.schema)
  _ = comparison.run(Encoded(Data(second.text), utf8: second.text))
  check(comparison.ours(first.data).lines == outcome.lines, "another outcome at the third time: \(outcome)")
  return 0
}

/// The bytes of a text, and the same in UTF-8 where that is known.
private struct Encoded {
  let data: Data
  let utf8: [UInt8]?

  init(_ data: Data, utf8: [UInt8]?) {
    self.data = data
    self.utf8 = utf8
  }

  /// Mostly the text as it stands; sometimes with one byte changed, or in another encoding.
  init(text: [UInt8], _ choices: inout Choices) {
    var changed = text
    switch choices.byte() {
    case 0xF0...0xF3 where !text.isEmpty: changed[Int(choices.byte()) * text.count / 256] = choices.byte()
    case 0xF4...0xF5: changed.removeLast(text.count * Int(choices.byte()) / 256)
    case 0xF6:
      self.init(Data([0xEF, 0xBB, 0xBF] + text), utf8: text)
      return
    case 0xF7...0xFF:
      let encodings: [String.Encoding] = [
        .utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .utf32LittleEndian, .utf32BigEndian,
      ]
      let encoding = choices.element(of: encodings)
      let string = String(decoding: text, as: UTF8.self)
      guard text.count > 1, let data = string.data(using: encoding) else { break }
      self.init(data, utf8: text)
      return
    default: break
    }
    self.init(Data(changed), utf8: Self.utf8(of: changed))
  }

  /// The text without its mark; `nil` where it looks like UTF-16 or UTF-32.
  static func utf8(of bytes: [UInt8]) -> [UInt8]? {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) || bytes.prefix(4).contains(0) {
      return nil
    }
    return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
  }
}

/// One type, and both decoders with the same strategies.
private struct Comparison {
  let subject: Subject
  let settings: Settings
  private let decoder: FastJSONDecoder

  init(_ subject: Subject, _ settings: Settings) {
    self.subject = subject
    self.settings = settings
    decoder = FastJSONDecoder(settings.decoder)
  }

  func ours(_ data: Data) -> Outcome { subject.ours(decoder, data) }
  func theirs(_ data: Data) -> Outcome { subject.theirs(settings.decoder, data) }

  /// Ends the program where the two decoders do not agree.
  ///
  /// - Returns: FastJSON's outcome.
  func run(_ text: Encoded) -> Outcome {
    let outcome = ours(text.data)
    guard let utf8 = text.utf8 else {
      // Foundation says whether such a text is JSON, and it reads more than that.
      if !Differences.isSyntax(outcome), !Differences.isUTF32OfTheTable(text.data) { expectSame(text.data, nil) }
      return outcome
    }
    guard let grammar = Grammar(utf8) else {
      Differences.checkRefused(outcome, text.data)
      return outcome
    }
    check(!Differences.isSyntax(outcome), "\(subject.name) of \(string(text.data)): refused as no JSON, \(outcome)")
    let isUTF8 = text.data.suffix(utf8.count).elementsEqual(utf8)
    Differences.checkPlace(outcome, text.data, isUTF8: isUTF8)
    // Foundation needs the square of the depth for unions.
    guard grammar.depth <= 40 else { return outcome }
    if subject.hasOtherKeys, Differences.hasNamesOfOneNumber(utf8, grammar) { return outcome }
    if Differences.isUTF32OfTheTable(text.data) {
      let other = run(Encoded(Data(utf8), utf8: utf8))
      check(other.lines == outcome.lines, "another outcome in UTF-32: \(outcome)")
      return outcome
    }
    if isSame(text.data, utf8) { return outcome }
    guard let tamed = Differences.withoutValuesOfTheTable(utf8, grammar) else {
      expectSame(text.data, utf8)
      return outcome
    }
    expectSame(Data(tamed), tamed)
    return outcome
  }

  /// - Parameter utf8: the same text without a mark, where that is known.
  private func isSame(_ data: Data, _ utf8: [UInt8]?) -> Bool {
    let (theirs, ours) = (theirs(data), ours(data))
    if Differences.areSame(theirs, ours, settings) { return true }
    // The row *several errors in a dictionary*: with a strategy of names, Foundation too takes them
    // in the order of the text. The row *a member of a name that was there before*: with such a
    // strategy it decodes that too, which FastJSON never does.
    let first = utf8.flatMap { Differences.withoutRepeatedMembers($0) }.map { Data($0) } ?? data
    let foundation = settings.hasDefaultKeys ? settings.withIdenticalNames() : settings.decoder
    if Differences.areSame(subject.theirs(foundation, first), ours, settings) { return true }
    guard subject.hasOtherKeys, case .failure(let left) = theirs, case .failure(let right) = ours else { return false }
    return Differences.areNeighbours(left, right)
  }

  private func expectSame(_ data: Data, _ utf8: [UInt8]?) {
    if isSame(data, utf8) { return }
    let (theirs, ours) = (theirs(data), ours(data))
    let differing = zip(theirs.lines, ours.lines).filter { $0 != $1 }.prefix(8)
      .map { "JSONDecoder     \($0)\nFastJSONDecoder \($1)" }
    let counts = "\(theirs.lines.count) and \(ours.lines.count) lines"
    violated("\(subject.name) of \(string(data)): \(counts)\n" + differing.joined(separator: "\n"))
  }
}

private func string(_ data: Data) -> String { String(decoding: data, as: UTF8.self).debugDescription }
