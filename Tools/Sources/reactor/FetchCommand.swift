import ArgumentParser
import Foundation
import HTTPTypes
import ReactorCore

/// `reactor fetch`: prints the JSON of one fetch, or with `--watch` each state as a line.
struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Fetches one URL and prints its JSON as it was received.",
    discussion: """
      Durations are written 500ms, 1s, 5m, 2h.

      With --watch, it prints each new state as one line, a JSON object with the members value, error, \
      fetchStatus, origin and isStale, until it is interrupted. --policy chooses which values are printed first, and \
      when the server is asked; the default is cache-first, as without --watch.

      GET, HEAD and QUERY are answered from the store if it has a fresh response. QUERY (RFC 10008) reads as GET does, \
      and has a body: --method QUERY --body @filter.json --header 'Content-Type: application/json'. A request with another method is sent once, \
      as curl sends it, and its response is not stored; a change makes what the store has of that URL stale. \
      If the connection is lost, it is unknown what the server has done: reactor send saves a request first, and repeats it \
      under one Idempotency-Key.

      A response without a body prints nothing, such as the response to HEAD or a 204 to a DELETE. A response to another method than GET need \
      not be JSON, unless --key-path or --require is given.

      --retries applies to failures that may be temporary: no connection, a timeout, and the statuses 408, 425, 429, 500, \
      502, 503 and 504, for GET, HEAD, QUERY, PUT, DELETE or a request with an Idempotency-Key. The wait grows with each \
      retry, and follows Retry-After up to a minute.

      \(ExitCodes.help([
        0: "the response was printed",
        64: "the arguments are invalid",
        65: "the response is not JSON, or lacks what --key-path or --require names",
        66: "the store has no response, and --policy cache-only asks for no other",
        69: "no connectivity, or no complete response",
        74: "the store, standard input or standard output failed",
        75: "timed out",
        76: "the server answered with an error status; its body is on standard error",
        130: "interrupted, as --watch is",
        143: "terminated",
      ]))
      """)

  @Argument(help: "The http or https URL to fetch.", transform: URLArgument.parse)
  var url: URL

  @Option(
    help: ArgumentHelp(
      "Store records in this directory, or in this file if it ends in .sqlite, and read them from there first.",
      valueName: "path"),
    completion: .file(), transform: StoreArgument.parse)
  var store: StoreArgument?

  @Option(help: "The fetch policy: cache, network, or both, in which order.")
  var policy: PolicyArgument = .cacheFirst

  @Option(
    help: ArgumentHelp("The time for which a response is fresh if the server does not say.", valueName: "duration"),
    transform: DurationArgument.parse)
  var freshFor: Duration?

  @Option(
    help: "The HTTP method. (default: GET, or POST with --body)",
    completion: .list(["GET", "HEAD", "QUERY", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]),
    transform: MethodArgument.parse)
  var method: HTTPRequest.Method?

  @Option(
    name: .customLong("header"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A header field, 'Name: value'; may be repeated.", valueName: "name: value"),
    transform: HeaderArgument.parse)
  var headers: [HTTPField] = []

  @Option(
    name: .customLong("query"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A query item, added to the URL's; may be repeated.", valueName: "name=value"),
    transform: QueryArgument.parse)
  var query: [URLQueryItem] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The body to send: text, or @ and a file's name, or - for standard input.", valueName: "text|@file|-"),
    transform: BodyArgument.parse)
  var body: BodyArgument?

  @Option(help: ArgumentHelp("The path of the model in the JSON, such as data.articles.", valueName: "a.b"))
  var keyPath: String?

  @Option(
    help: ArgumentHelp(
      "Members that every element must have; elements without them are pruned.", valueName: "id,title"),
    transform: RequireArgument.parse)
  var require: [String] = []

  @Flag(help: "Fail on the first malformed element instead of pruning it.")
  var strict = false

  @Option(
    help: ArgumentHelp("The time limit of each request, redirects included. (default: 60s)", valueName: "duration"),
    transform: DurationArgument.parsePositive)
  var timeout: Duration = .seconds(60)

  @Option(
    help: ArgumentHelp("Retry a failed request at most this many times; 0 for never.", valueName: "number"),
    transform: RetriesArgument.parse)
  var retries: Int = 0

  @Flag(help: "Act as if there were no connectivity, also for a loopback host.")
  var offline = false

  @Flag(help: "Print each new state of a GET, HEAD or QUERY as one line of JSON, until interrupted.")
  var watch = false

  @Option(
    help: ArgumentHelp("With --watch: fetch again this long after each response.", valueName: "duration"),
    transform: DurationArgument.parsePositive)
  var every: Duration?

  @Flag(help: "Print each event as one line on standard error.")
  var trace = false

  /// The method of the request: the given one, or GET, or POST if there is a body.
  var effectiveMethod: HTTPRequest.Method { method ?? (body == nil ? .get : .post) }

  func validate() throws {
    guard every == nil || watch else { throw ValidationError("--every needs --watch") }
    guard every == nil || policy != .cacheOnly else {
      throw ValidationError("--every asks the server, which --policy cache-only never does; choose another policy")
    }
    guard !watch || effectiveMethod.readsOnly else {
      throw ValidationError("--watch is for GET, HEAD and QUERY; leave it out for \(effectiveMethod.rawValue)")
    }
  }

  func run() async throws {
    // Before the signals are handled, so that Ctrl-C ends a command that waits for input.
    let fetch = Fetch(self, body: try body?.data())
    throw ExitCode(await Interrupt.cancelling { await fetch.run() })
  }
}
