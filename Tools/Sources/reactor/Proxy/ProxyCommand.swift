import ArgumentParser
import Foundation
import HTTPCachingProxy
import NIOCore
import ReactorChangeFeed
import ReactorFleet
import ReactorSQLite

/// `reactor proxy`: a caching reverse proxy that runs until it is interrupted.
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Caches a server's responses as a proxy (RFC 9111), until it is interrupted.",
    discussion: """
      It prints the URL that it listens on. It stores, uses, validates and invalidates responses as RFC 9111 and RFC 5861 \
      define for a private cache; requests with Authorization have a separate cache per value. With --rules shared, it follows \
      the rules of a cache for several users: s-maxage counts, private responses are not stored, and responses to requests \
      with Authorization only if the server permits it. If the server gives no complete response, the client gets a 502, or a \
      stale response where that is allowed.

      An outage of the server is remembered: a permitted stale response is served at once, and one request at a time checks \
      whether the server is back, with exponential backoff from one second to 30. If there is no stale response, the client \
      is refused for a second after the server could not be reached.

      Of concurrent equal GET requests, one is sent, and the others wait for its response. They do not wait if the last \
      response could not be stored.

      With --fleet, proxies with one --namespace and one --upstream share their responses, and one of them sends the request for \
      all. A change through one makes the response stale on all. A line on standard error reports when messages of the others \
      arrive, and when not; meanwhile each proxy contacts the upstream by itself. Responses to requests with credentials stay with their proxy, unless --rules \
      shared permits otherwise.

      With --live, a GET of that path is a stream of server-sent events, which tells what requests through the proxy have \
      changed: for each unsafe request that succeeded, its URL, those of Location and Content-Location, and the groups of \
      Cache-Group-Invalidation (RFC 9875). ReactorLive reads it, and so does any client of server-sent events. It tells \
      no contents and names no secret query item, but everyone whom the proxy serves may follow it, and the paths may be \
      secrets themselves. Changes that bypass the proxy are not told. The path is the proxy's, even if the server has a resource of that name. Something \
      is sent every 15 seconds. A stream ends after about 15 minutes, and the client reconnects. At most half of \
      --max-connections may be streams; a further one is a 503 with Retry-After.

      It serves requests for this machine (localhost, 127.0.0.1, [::1]), for the address that it listens on, and for the names \
      of --allow-host; another Host is a 421. A path with a segment . or .., or a fragment, is a 400. Fields that only a proxy may \
      set are not forwarded, such as Forwarded, X-Forwarded-Host, X-Real-IP and each field with an underscore in its name. It adds \
      itself to Via; a request that comes back is a 508. A GET with a body bypasses the cache. Values of secret query items, such as access_token, are stored as digests.

      A response of up to --largest-body is held in memory, and stored; a larger one, and a stream of events, is forwarded as it \
      arrives, and not stored. The body of a request is held in memory, up to 64 MiB, and all of them up to 256 MiB. Clients that \
      are sent one body share its bytes. A request's head has at most 64 KiB and takes at most 30 seconds; its body \
      must bring 16 KiB in each 30 seconds. A connection is closed after two idle minutes.

      Of the public HTTP caching suite (github.com/http-tests/cache-tests), it passes 143 of the 144 required tests for a private \
      cache, and all with --keep-cookies; with --rules shared and --targets CDN-Cache-Control, 159 of 160 for a shared one.

      \(ExitCodes.help([
        0: "interrupted or terminated, after it has served",
        64: "the arguments are invalid",
        69: "it cannot listen",
        74: "the store failed",
      ]))
      """)

  @Option(
    help: ArgumentHelp("The host and port to listen on; port 0 is any free port.", valueName: "host:port"),
    transform: ListenArgument.parse)
  var listen: ListenArgument

  @Option(
    help: ArgumentHelp("The http or https URL of the server behind the proxy.", valueName: "url"),
    transform: UpstreamArgument.parse)
  var upstream: UpstreamArgument

  @Option(
    help: ArgumentHelp(
      "Store records in this directory, or in this file if it ends in .sqlite. (default: in memory)",
      valueName: "path"),
    completion: .file(), transform: StoreArgument.parse)
  var store: StoreArgument?

  @Option(help: "The rules of the cache: private, for one user or service, or shared, for several users.")
  var rules = RulesArgument.private

  @Option(
    help: ArgumentHelp(
      "With --rules shared: the fields that go before Cache-Control, such as CDN-Cache-Control, most specific first (RFC 9213).",
      valueName: "field,…"),
    transform: TargetsArgument.parse)
  var targets: TargetsArgument?

  @Flag(
    help: """
      With --rules shared: let a response answer other queries of its path, as its No-Vary-Search says. Only for a \
      server whose responses never depend on a user by the query alone.
      """)
  var noVarySearch = false

  @Option(
    help: ArgumentHelp(
      "Say in Cache-Status how each response was made, under this name (RFC 9211).", valueName: "name"),
    transform: StatusNameArgument.parse)
  var cacheStatus: StatusNameArgument?

  @Option(
    help: ArgumentHelp(
      """
      Share responses with other proxies over this Valkey or Redis server, as in redis://cache:6379 or \
      rediss://user@cache:6380. Needs --namespace. A password that it lacks is taken from REACTOR_FLEET_PASSWORD.
      """, valueName: "url"),
    transform: FleetArgument.parse)
  var fleet: FleetArgument?

  @Option(
    help: ArgumentHelp(
      "The name of the proxies that share responses: 1 to 64 letters, digits, points, underscores and hyphens.",
      valueName: "name"))
  var namespace: String?

  @OptionGroup var fleetTLS: FleetTLSOptions

  @Option(
    help: ArgumentHelp(
      "Answer GET requests of this path with a stream of the changes that are made through the proxy.",
      valueName: "path"),
    transform: LiveArgument.parse)
  var live: String?

  @Option(
    name: .customLong("allow-host"), parsing: .singleValue,
    help: ArgumentHelp(
      "Also serve requests for this host, with any port; may be repeated.", valueName: "host"),
    transform: HostArgument.parse)
  var allowedHosts: [String] = []

  @Flag(help: "Store Set-Cookie with a response, and send it to every client that gets the response.")
  var keepCookies = false

  @Option(
    help: ArgumentHelp(
      "Serve at most this many clients at once; others wait. (default: as many as the limit of open files allows)",
      valueName: "number"))
  var maxConnections = 1024

  @Option(
    help: ArgumentHelp(
      "Store bodies of at most this many MiB; larger ones are passed on as they arrive.", valueName: "MiB"))
  var largestBody = BodyLimit.response >> 20

  @Option(
    help: ArgumentHelp(
      "Store at most this many MiB in memory; what was not used for longest goes first. (default: 256)",
      valueName: "MiB"))
  var memoryLimit: Int?

  @Flag(
    inversion: .prefixedNo,
    help: "When the server cannot be reached or hangs up, serve a stale response unless the server forbids it.")
  var staleOnDisconnect = true

  @Flag(help: "Contact the server for each request, even if it has just failed and a stale response could be served.")
  var forgetOutages = false

  @Flag(help: "Print each exchange as one line on standard error.")
  var trace = false

  func validate() throws {
    guard maxConnections > 0 else { throw ValidationError("--max-connections must be 1 or more.") }
    guard (1...1024).contains(largestBody) else { throw ValidationError("--largest-body must be from 1 to 1024 MiB.") }
    guard (1...1_048_576).contains(memoryLimit ?? 1) else {
      throw ValidationError("--memory-limit must be from 1 to 1048576 MiB.")
    }
    guard memoryLimit == nil || store == nil else {
      throw ValidationError("--memory-limit is for responses in memory; leave it out, or --store.")
    }
    guard rules == .shared || targets == nil else { throw ValidationError("--targets needs --rules shared.") }
    guard rules == .shared || !noVarySearch else {
      throw ValidationError("--no-vary-search needs --rules shared; a private cache honors the field by itself.")
    }
    guard fleet == nil || !noVarySearch else {
      throw ValidationError("--fleet shares responses by their URLs; leave --no-vary-search out.")
    }
    guard rules == .private || !keepCookies else {
      throw ValidationError("--keep-cookies is for one user, and --rules shared is for several; leave one of them out.")
    }
    guard (fleet == nil) == (namespace == nil) else {
      throw ValidationError(
        fleet == nil ? "--namespace needs --fleet." : "--fleet needs --namespace, the name of the proxies that share.")
    }
    guard fleet == nil || !keepCookies else {
      throw ValidationError("--fleet never shares cookies; leave --keep-cookies out.")
    }
    guard fleet == nil || live == nil else {
      throw ValidationError("--live tells only the changes through one proxy; leave it out, or --fleet.")
    }
    if let fleet, let namespace { _ = try fleetTLS.store(fleet, namespace) }
  }

  func run() async throws {
    throw ExitCode(await Interrupt.ending { await serve() })
  }

  /// Serves until the task is cancelled.
  ///
  /// - Returns: The exit code.
  private func serve() async -> Int32 {
    // A write without a reader fails, instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
    let server: ProxyServer
    let fleet: Fleet?
    let proxy: Proxy
    do {
      fleet = try sharedFleet()
      let clients = OpenFiles.makeRoom(forClients: maxConnections)
      proxy = try self.proxy(fleet, clients: clients)
      server = try await ProxyServer.start(proxy, on: listen, hosts: allowedHosts, maxConnections: clients)
    } catch {
      let isStore = error is SQLitePersistenceError
      // SwiftNIO's own text names a system call, and its arguments.
      let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
      let status = ExitStatus(
        code: isStore ? ExitStatus.inputOutput : ExitStatus.unavailable,
        text: isStore
          ? "\(error)"
          : "the proxy cannot listen on \(listen.text): \(reason); use another --listen, or port 0 for any free port")
      status.report()
      return status.code
    }
    StandardStream.output.writeLine("http://\(ListenArgument(host: listen.host, port: server.port).text)")
    let sharing = Task { try? await fleet?.run() }
    let (never, end) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    end.finish()
    // A separate task, since this one is cancelled.
    await Task {
      // An open stream would keep its connection until the end of the grace.
      proxy.live?.feed.shutdown()
      await server.stop()
      sharing.cancel()
      await sharing.value
    }.value
    return ExitCode.success.rawValue
  }

  private func sharedFleet() throws -> Fleet? {
    guard let fleet, let namespace else { return nil }
    var configuration = FleetConfiguration()
    configuration.statusChanged = { status, error in
      StandardStream.error.writeLine(TraceLine.oneLine(FleetLine.text(status, error)))
    }
    return Fleet(try fleetTLS.store(fleet, namespace), configuration: configuration)
  }

  private func proxy(_ fleet: Fleet?, clients: Int) throws -> Proxy {
    let persistence =
      try store.map { try Store($0).persistence } ?? MemoryPersistence(limit: (memoryLimit ?? 256) << 20)
    let rules: CacheRules = rules == .shared ? .shared(targets: targets?.names ?? []) : .private
    let cache =
      if let fleet { ProxyCache(persistence: persistence, fleet: fleet, rules: rules) } else {
        ProxyCache(
          persistence: persistence, rules: rules, keepsCookies: keepCookies,
          honorsNoVarySearch: noVarySearch ? true : nil)
      }
    var proxy = Proxy(
      cache: cache,
      upstream: try Upstream(upstream, bodyLimit: largestBody << 20), isStaleOnDisconnect: staleOnDisconnect)
    proxy.statusName = cacheStatus?.name
    // Clients that are told of a change need the other connections to ask.
    proxy.live = live.map { LiveChanges(path: $0, basePath: upstream.basePath, clients: max(1, clients / 2)) }
    proxy.staysOnEventLoop = store == nil
    // As many bodies as the store in memory has may be on their way, and always some of the
    // largest.
    proxy.responseBodies = SharedBodies(
      BodyMemory(limit: max(BodyLimit.responses, (memoryLimit ?? 0) << 20, 4 * largestBody << 20)))
    if forgetOutages { proxy.outages = nil }
    if trace { proxy.trace = { StandardStream.error.writeLine($0) } }
    return proxy
  }
}
