import ArgumentParser

/// The address to listen at: `HOST:PORT`, with an IPv6 address in brackets. Port 0 is any free
/// port.
struct ListenArgument: Hashable, Sendable {
  let host: String
  let port: Int

  static func parse(_ text: String) throws -> ListenArgument {
    let problem = ValidationError("give a host and a port, such as 127.0.0.1:8080 or [::1]:0")
    guard let colon = text.lastIndex(of: ":") else { throw problem }
    let digits = text[text.index(after: colon)...]
    var host = text[..<colon]
    let isBracketed = host.first == "[" && host.last == "]"
    if isBracketed { host = host.dropFirst().dropLast() }
    guard !host.isEmpty, isBracketed || !host.contains(":"), digits.allSatisfy({ $0.isASCII && $0.isNumber }),
      let port = Int(digits), port <= 65_535
    else { throw problem }
    return ListenArgument(host: String(host), port: port)
  }

  var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
