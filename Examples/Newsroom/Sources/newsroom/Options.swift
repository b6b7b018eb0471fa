import Foundation

/// The options of the command line.
struct Options {
  var port = 8080
  var apiPort = 8081
  /// Another program's; `nil`: this one runs its own.
  var api: URL?
  var hasReader = true
  /// `nil`: a temporary one.
  var store: URL?
  var tokenLifetime: Duration = .seconds(60)

  static let help = """
    newsroom                 the news API and the web reader, until Ctrl-C
    newsroom api             only the API
    newsroom reader --api URL  only the web reader

      --port N               of the web reader; 0 is a free one (8080)
      --api-port N           of the API; 0 is a free one (8081)
      --store DIRECTORY      where the API and the reader keep what a restart needs
                             (a temporary directory)
      --token-lifetime N     seconds until an access token expires (60)
    """

  /// Help was requested, or is needed.
  struct Help: Error {
    var exitStatus: Int32
  }

  init(_ arguments: some Sequence<String>) throws(Help) {
    var needsAPI = false
    var rest = arguments.makeIterator()
    while let argument = rest.next() {
      switch argument {
      case "api": hasReader = false
      case "reader": needsAPI = true
      case "--help", "-h": throw Help(exitStatus: 0)
      case "--port": port = try Self.port(rest.next())
      case "--api-port": apiPort = try Self.port(rest.next())
      case "--api": api = try Self.required(rest.next().flatMap { URL(string: $0) })
      case "--store": store = URL(filePath: try Self.required(rest.next()), directoryHint: .isDirectory)
      case "--token-lifetime":
        tokenLifetime = .seconds(try Self.required(rest.next().flatMap(UInt16.init)))
      default: throw Help(exitStatus: 64)
      }
    }
    guard needsAPI == (api != nil), hasReader || !needsAPI else { throw Help(exitStatus: 64) }
  }

  private static func port(_ text: String?) throws(Help) -> Int { Int(try required(text.flatMap(UInt16.init))) }

  private static func required<Value>(_ value: Value?) throws(Help) -> Value {
    guard let value else { throw Help(exitStatus: 64) }
    return value
  }
}
