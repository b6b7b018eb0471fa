import ArgumentParser
import Foundation
import HTTPTypes
import ReactorCore

/// The work of `reactor fetch`, independent of the command line.
struct Fetch: Sendable {
  private let request: FetchedRequest
  private let resource: Resource
  private let policy: FetchPolicy
  private let parser: Parser<Data>
  private let timeout: Duration
  private let store: StoreArgument?
  private let isOffline: Bool
  private let scope: Scope
  private let configuration: ReactorConfiguration
  private let isTraced: Bool
  private let isWatch: Bool
  private let interval: Duration?

  /// - Parameter body: The bytes of the command's body.
  init(_ command: FetchCommand, body: Data?) {
    let headers = HTTPFields(command.headers)
    // The URL is the base itself, so its path is sent as it was written.
    var resource = Resource("", method: command.effectiveMethod, headers: headers, body: body)
    resource.query = command.query
    resource.identityHeaders = CredentialScope.identityHeaders(of: headers)
    var configuration = ReactorConfiguration()
    configuration.saving = .required
    // Polling keeps the interval of the command line in low power mode.
    configuration.lowPower.pollingFactor = 1
    configuration.retry.attempts = command.retries + 1
    if let freshFor = command.freshFor { configuration.freshFor = freshFor }
    request = FetchedRequest(method: command.effectiveMethod, url: command.url)
    self.resource = resource
    self.configuration = configuration
    policy = command.policy.policy
    let json = Parser<Data>.jsonBytes(
      keyPath: command.keyPath, requiring: command.require, mode: command.strict ? .strict : .prune)
    // A response to HEAD has no body, and one to a change need not have one, nor be JSON: a failure
    // to read it would look like a change that was not made.
    parser =
      [.get, .query].contains(command.effectiveMethod)
      ? json : command.keyPath == nil && command.require.isEmpty ? .unread : json.orEmpty
    store = command.store
    timeout = command.timeout
    isOffline = command.offline
    scope = CredentialScope.scope(of: headers)
    isTraced = command.trace
    isWatch = command.watch
    interval = command.every
  }

  /// Fetches or watches the resource, and prints the result.
  ///
  /// - Returns: The exit code.
  func run() async -> Int32 {
    let persistence: (any Persistence)?
    do {
      persistence = try store.map { try Store($0).persistence }
    } catch {
      let status = ExitStatus(code: ExitStatus.inputOutput, text: "\(error)")
      status.report()
      return status.code
    }
    // A trace and a watch print their own lines.
    let line = isTraced || isWatch ? nil : ProgressLine.onTerminal()
    let transport: any Transport = URLSessionTransport(timeout: timeout)
    let layer = ModelLayer(
      baseURL: request.url, transport: line.map { WatchedTransport(transport: transport, line: $0) } ?? transport,
      persistence: persistence, scope: scope,
      configuration: configuration)
    let token = isTraced ? layer.observeEvents { StandardStream.error.writeLine(TraceLine.text($0)) } : nil
    defer { token?.cancel() }
    let reactor = reactor(layer)
    guard !isWatch else {
      return await Watch(reactor: reactor, resource: resource, policy: policy, interval: interval).run()
    }
    let result = if let line { await line.during { await fetched(by: reactor) } } else { await fetched(by: reactor) }
    switch result {
    case .success(let bytes):
      let status = print(bytes)
      await waitForRevalidation(reactor)
      await layer.flushEvents()
      return status
    case .failure(let error):
      await layer.flushEvents()
      let status = ExitStatus(error, of: request)
      status.report()
      return status.code
    }
  }

  private func fetched(by reactor: Reactor<Data>) async -> Result<Data, ReactorError> {
    do throws(ReactorError) {
      guard !resource.method.readsOnly else {
        return .success(try await reactor.fetch(resource, policy: policy))
      }
      guard policy != .cacheOnly else { throw .notCached }
      return .success(try await reactor.send(resource))
    } catch {
      return .failure(error)
    }
  }

  private func reactor(_ layer: ModelLayer) -> Reactor<Data> {
    var flow = layer.flow(Data.self, parser: parser)
    // Reachability cannot do this, since loopback hosts bypass it.
    if isOffline { flow.network = { _, _ in throw ReactorError.noConnectivity } }
    return Reactor(flow: flow)
  }

  /// Waits for a revalidation in the background, which follows a stale value. The process would
  /// otherwise exit before the response is saved.
  private func waitForRevalidation(_ reactor: Reactor<Data>) async {
    guard resource.method.readsOnly else { return }
    for await state in reactor.states(for: resource, policy: .cacheOnly) where state.fetchStatus == .idle { return }
  }

  private func print(_ bytes: Data) -> Int32 {
    do {
      if !bytes.isEmpty { try StandardStream.output.write(bytes + Data("\n".utf8)) }
      return ExitCode.success.rawValue
    } catch {
      ExitStatus.unwritableOutput.report()
      return ExitStatus.unwritableOutput.code
    }
  }
}

extension Parser where Model == Data {
  /// A parser that accepts any bytes.
  fileprivate static var unread: Parser {
    Parser {
      Parsed($0)
    } encode: {
      $0
    }
  }

  /// A parser that also accepts the body of a response that has none.
  fileprivate var orEmpty: Parser {
    Parser {
      $0.isEmpty ? Parsed($0) : try parse($0)
    } encode: {
      try encode($0)
    }
  }
}
