import ArgumentParser
import Foundation
import HTTPTypes
import ReactorCore

/// `reactor send`: saves a request in an outbox, and prints its id.
struct SendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Saves a request in an outbox, and prints the id of its entry once it is saved.",
    discussion: """
      Without --wait, the command then exits; reactor outbox drain sends the request. With --wait, it sends the requests of the \
      lane in order until this one is finished, and prints the body of the accepted response. A request that is not finished \
      in time stays in the outbox.

      Durations are written 500ms, 1s, 5m, 2h.

      Every attempt sends the same bytes under the same Idempotency-Key; one that you give with --header is used. PUT, \
      DELETE and other idempotent methods need no key. Redirects are not followed. An outbox holds no secrets: \
      Authorization, Proxy-Authorization, Cookie, a user in the URL and secret query items such as access_token are \
      refused, and nothing is saved. With --wait, the variable REACTOR_AUTHORIZATION has the value of Authorization, which is added \
      to each request to the URL's origin and not saved. A body has at most 1 MiB.

      \(ExitCodes.help([
        0: "the request is saved; with --wait, the server has accepted it",
        64: "the arguments are invalid, and nothing is saved",
        74: "the outbox, standard input or standard output failed",
        75: "it was not finished in time, and stays in the outbox",
        76: "the server refused the request, or the outcome stays unknown",
        130: "interrupted",
        143: "terminated",
      ]))
      """)

  @Argument(help: "The URL: http or https.", transform: OutboxURLArgument.parse)
  var url: URL

  @OptionGroup var options: OutboxOptions

  @Option(
    help: "The HTTP method. (default: POST)", completion: .list(["POST", "PUT", "PATCH", "DELETE"]),
    transform: OutboxMethodArgument.parse)
  var method: HTTPRequest.Method = .post

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The body: text, or @ and a file's name, or - for standard input.", valueName: "text|@file|-"),
    transform: BodyArgument.parse)
  var body: BodyArgument?

  @Option(
    name: .customLong("header"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A header field, 'Name: value'; may be repeated.", valueName: "name: value"),
    transform: HeaderArgument.parse)
  var headers: [HTTPField] = []

  @Option(
    help: ArgumentHelp(
      "The lane: its requests are sent one after the other, in their order. (default: main)", valueName: "name"),
    transform: LaneArgument.parse)
  var lane: String = "main"

  @Option(
    help: ArgumentHelp(
      "The time for which the server remembers an Idempotency-Key; 0s if it does not. (default: 24h)",
      valueName: "duration"),
    transform: DurationArgument.parse)
  var idempotencyWindow: Duration = .seconds(86_400)

  @Option(
    help: ArgumentHelp("With --wait: the limit for each attempt. (default: 60s)", valueName: "duration"),
    transform: DurationArgument.parsePositive)
  var timeout: Duration = .seconds(60)

  @Option(
    help: ArgumentHelp("Send the request, and wait this long for the outcome.", valueName: "duration"),
    transform: DurationArgument.parse)
  var wait: Duration?

  func run() async throws {
    // Before the signals are handled, so that Ctrl-C ends a command that waits for input.
    let send = Send(self, body: try body?.data())
    throw ExitCode(await Interrupt.cancelling { await send.run() })
  }
}

/// The URL of a request that is saved.
enum OutboxURLArgument {
  static func parse(_ text: String) throws -> URL {
    if let parts = URLComponents(string: text), parts.user != nil || parts.password != nil {
      throw ValidationError("an outbox holds no secrets; remove the user and the password from the URL")
    }
    return try URLArgument.parse(text)
  }
}

/// The method of a request that is saved.
enum OutboxMethodArgument {
  static func parse(_ text: String) throws -> HTTPRequest.Method {
    let method = try MethodArgument.parse(text)
    guard !method.isSafe else {
      throw ValidationError("\(method.rawValue) only reads; use reactor fetch, or POST, PUT, PATCH or DELETE here")
    }
    return method
  }
}

/// The name of a lane.
enum LaneArgument {
  static func parse(_ text: String) throws -> String {
    guard !text.isEmpty else { throw ValidationError("the name of a lane must not be empty") }
    return text
  }
}
