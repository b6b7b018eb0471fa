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
      Without --wait, the command ends then; reactor outbox drain sends the request. With --wait, it sends the requests of the \
      lane in their order until this one has ended, and prints the body of the accepted response. It exits with 0 if the \
      server accepted the request, with 76 if the server refused it or the outcome stays unknown, and with 75 if it has \
      not ended in time; it then stays in the outbox.

      Durations are written 500ms, 1s, 5m, 2h.

      Every attempt sends the same bytes under the same Idempotency-Key; one that you give with --header is used. PUT, \
      DELETE and other idempotent methods need no key. Redirects are not followed. An outbox holds no secrets: \
      Authorization, Proxy-Authorization, Cookie, a user in the URL and secret query items such as access_token are \
      refused, and nothing is saved. With --wait, the variable REACTOR_AUTHORIZATION has the value of Authorization, which is added \
      to each request to the URL's origin and not saved. A body has at most 1 MiB.

      Other exit codes are 64 for invalid arguments, 74 if the outbox cannot be read or written, and 130 and 143 for an interrupt.
      """)

  @Argument(help: "The URL: http or https.", transform: OutboxURLArgument.parse)
  var url: URL

  @OptionGroup var options: OutboxOptions

  @Option(help: "The HTTP method. (default: POST)", transform: OutboxMethodArgument.parse)
  var method: HTTPRequest.Method = .post

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The body: text, or @ and a file's name.", valueName: "text|@file"),
    transform: BodyArgument.parse)
  var body: Data?

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
    help: ArgumentHelp("Send the request, and wait this long for its end.", valueName: "duration"),
    transform: DurationArgument.parse)
  var wait: Duration?

  func run() async throws {
    let send = Send(self)
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
    guard !method.readsOnly else {
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
