// The text of what a call has encoded.

import Foundation

extension EncodedTree {
  /// Writes everything, and returns a copy.
  mutating func text() -> Data {
    bytes.reserve(16)
    write(EncodedValue(node: 0), indent: 0)
    return Data(bytes: output.start, count: output.count)
  }

  /// As deep as arrays and objects nest, which ``open(_:as:)`` limits.
  private mutating func write(_ value: EncodedValue, indent: Int) {
    guard let node = value.node else { return copy(value) }
    switch nodes[node].kind {
    case .scalar: copy(nodes[node].value)
    case .array: writeArray(node, indent: indent + 1)
    case .object, .empty: writeObject(node, indent: indent + 1)
    }
  }

  @inline(__always) private mutating func copy(_ value: EncodedValue) {
    output.write(padded: bytes.start + Int(value.start), count: Int(value.count))
  }

  private mutating func writeArray(_ node: Int, indent: Int) {
    begin(UInt8(ascii: "["))
    var next = nodes[node].first
    var isFirst = true
    while next != 0 {
      let member = members[Int(next &- 1)]
      separate(&isFirst, indent: indent)
      write(member.value, indent: indent)
      next = member.next
    }
    end(UInt8(ascii: "]"), indent: indent)
  }

  private mutating func writeObject(_ node: Int, indent: Int) {
    begin(UInt8(ascii: "{"))
    let place = nodes[node]
    var isFirst = true
    if place.count > 1, sortsNames || place.mayRepeat || place.hasSpecialName {
      let (start, end) = order(of: place)
      for index in start..<end {
        separate(&isFirst, indent: indent)
        write(members[Int(order[index].member)], indent: indent)
      }
      order.cut(to: start)
    } else {
      var next = place.first
      while next != 0 {
        let member = members[Int(next &- 1)]
        separate(&isFirst, indent: indent)
        write(member, indent: indent)
        next = member.next
      }
    }
    end(UInt8(ascii: "}"), indent: indent)
  }

  @inline(__always) private mutating func write(_ member: EncodedMember, indent: Int) {
    let colon = member.name.start &+ member.name.count &+ 1
    if !isPretty, member.value.start == colon, member.value.count != .max {
      // The value stands behind its name.
      return output.write(
        padded: bytes.start + Int(member.name.start), count: Int(member.name.count &+ 1 &+ member.value.count))
    }
    copy(member.name)
    if isPretty { output.write(" : ") } else { output.append(UInt8(ascii: ":")) }
    write(member.value, indent: indent)
  }

  // MARK: White space, as `JSONEncoder` has it

  @inline(__always) private mutating func begin(_ bracket: UInt8) {
    output.append(bracket)
    if isPretty { output.append(UInt8(ascii: "\n")) }
  }

  @inline(__always) private mutating func separate(_ isFirst: inout Bool, indent: Int) {
    if isFirst { isFirst = false } else { output.write(isPretty ? ",\n" : ",") }
    if isPretty { for _ in 0..<indent { output.write("  ") } }
  }

  @inline(__always) private mutating func end(_ bracket: UInt8, indent: Int) {
    if isPretty {
      output.append(UInt8(ascii: "\n"))
      for _ in 1..<indent { output.write("  ") }
    }
    output.append(bracket)
  }

  // MARK: Names

  /// Pushes the members of an object in the order of the text, each name once, with its last value.
  private mutating func order(of object: EncodedNode) -> (start: Int, end: Int) {
    let start = order.count
    var next = object.first
    while next != 0 {
      let member = members[Int(next &- 1)]
      order.append(OrderedMember(prefix: prefix(of: member.name), member: next &- 1))
      next = member.next
    }
    if object.hasSpecialName || (object.mayRepeat && hasEqualNames(from: start)) { settleNames(from: start) }
    if sortsNames { sort(from: start) }
    return (start, order.count)
  }

  private mutating func hasEqualNames(from start: Int) -> Bool {
    let end = order.count
    for index in start..<end { order.append(order[index]) }
    defer { order.cut(to: end) }
    sort(from: end)
    return (end + 1..<order.count).contains { !precedes(order[$0 - 1], order[$0]) }
  }

  /// Leaves each name once. Names are equal as strings are, by canonical equivalence, and the first
  /// one's bytes stay.
  private mutating func settleNames(from start: Int) {
    var places: [String: Int] = [:]
    var end = start
    for index in start..<order.count {
      let member = Int(order[index].member)
      if let first = places.updateValue(end, forKey: name(of: member)) {
        places[name(of: member)] = first
        members.start[Int(order[first].member)].value = members[member].value
      } else {
        order[end] = order[index]
        end += 1
      }
    }
    order.cut(to: end)
  }

  private mutating func sort(from start: Int) {
    var ordered = UnsafeMutableBufferPointer(start: order.start + start, count: order.count - start)
    if ordered.count > 24 { return ordered.sort { precedes($0, $1) } }
    for index in ordered.indices.dropFirst() {
      let moved = ordered[index]
      var place = index
      while place > 0, precedes(moved, ordered[place - 1]) {
        ordered[place] = ordered[place - 1]
        place -= 1
      }
      ordered[place] = moved
    }
  }

  /// By the bytes of the names without escapes.
  @inline(__always) private func precedes(_ first: OrderedMember, _ second: OrderedMember) -> Bool {
    if first.prefix != second.prefix, specialNames.isEmpty { return first.prefix < second.prefix }
    return precedesSlowly(first, second)
  }

  @inline(never) private func precedesSlowly(_ first: OrderedMember, _ second: OrderedMember) -> Bool {
    if specialNames[first.member] != nil || specialNames[second.member] != nil {
      return name(of: Int(first.member)).utf8.lexicographicallyPrecedes(name(of: Int(second.member)).utf8)
    }
    let (first, second) = (members[Int(first.member)].name, members[Int(second.member)].name)
    // Without the quotes.
    let order = memcmp(
      bytes.start + Int(first.start) + 1, bytes.start + Int(second.start) + 1, Int(min(first.count, second.count)) - 2)
    return order != 0 ? order < 0 : first.count < second.count
  }

  func name(of member: Int) -> String {
    if let name = specialNames[UInt32(truncatingIfNeeded: member)] { return name }
    let name = members[member].name
    let bytes = UnsafeBufferPointer(start: bytes.start + Int(name.start) + 1, count: Int(name.count) - 2)
    return String(decoding: bytes, as: UTF8.self)
  }
}
