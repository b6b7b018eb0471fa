import Configuration
import CoreMetrics
import Foundation
import HTTPTypes
import ReactorCore
import ServiceLifecycle
import ShopAPIs
import Testing

@testable import ShopGateway

@Suite("For operators", .timeLimit(.minutes(5))) struct OperationTests {
  @Test func `metrics count requests and saved requests, and name no user`() async throws {
    try await RunningGateway.use { gateway async throws in
      for _ in 0..<3 { #expect(try await gateway.page(42, "ada").status == 200) }
      let answer = try await gateway.ask(.get, "/metrics", admin: true)
      #expect(answer.fields[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
      let lines = answer.text.split(separator: "\n")
      for name in ["catalogue", "stock", "account"] {
        #expect(lines.contains { $0.hasPrefix("reactor_requests_total{layer=\"\(name)\",source=\"network\"") })
        #expect(lines.contains { $0.hasPrefix("http_client_request_duration_count{layer=\"\(name)\"") })
      }
      #expect(lines.contains("gateway_requests_active 0.0") && lines.contains("gateway_users 1.0"))
      #expect(!answer.text.contains("ada") && !answer.text.contains("products/"))
    }
  }

  @Test func `clients see neither metrics nor an inspector`() async throws {
    try await RunningGateway.use(["INSPECTOR_PASSWORD": "correct horse battery"]) { gateway async throws in
      for path in ["/metrics", "/inspector"] { #expect(try await gateway.ask(.get, path).status == 404) }
    }
  }

  @Test func `there is no inspector unless it has a password`() async throws {
    try await RunningGateway.use { gateway async throws in
      #expect(try await gateway.ask(.get, "/inspector", admin: true).status == 404)
    }
  }

  @Test func `the inspector needs the password, and changes nothing`() async throws {
    try await RunningGateway.use(["INSPECTOR_PASSWORD": "correct horse battery"]) { gateway async throws in
      #expect(try await gateway.ask(.get, "/inspector", admin: true).status == 401)
      let credentials = Data("ops:correct horse battery".utf8).base64EncodedString()
      let page = try await gateway.ask(.get, "/inspector", authorization: "Basic \(credentials)", admin: true)
      #expect(page.status == 200 && page.text.contains(#"<body class="read-only">"#))
      let change = try await gateway.ask(
        .post, "/inspector/offline?on=true", authorization: "Basic \(credentials)", admin: true)
      #expect(change.status == 403 && change.text == "the inspector is read-only; it changes nothing")
      #expect(try await gateway.page(1).status == 200)
    }
  }

  @Test func `it is alive and ready, and during a shutdown not ready, while it still answers`() async throws {
    let (isSeen, seen) = AsyncStream.makeStream(of: Never.self)
    let sleep: @Sendable (Duration) async throws -> Void = { duration in
      #expect(duration == .seconds(5))
      for await _ in isSeen {}
    }
    try await RunningGateway.use(["SHUTDOWN_DELAY": "5"], sleep: sleep) { gateway async throws in
      defer { seen.finish() }
      #expect(try await gateway.ask(.get, "/health/live").status == 200)
      #expect(try await gateway.ask(.get, "/health/ready").status == 200)
      await gateway.services.triggerGracefulShutdown()
      while try await gateway.ask(.get, "/health/ready").status == 200 {}
      #expect(try await gateway.ask(.get, "/health/live").status == 200)
      #expect(try await gateway.page(1).status == 200)
    }
  }
}

@Suite("Users of the gateway") struct UsersTests {
  private func users(_ limit: Int) throws -> Users {
    let url = try #require(URL(string: "http://127.0.0.1:1"))
    return Users(limit: limit) { _, number in ModelLayer(baseURL: url, scope: Scope("user \(number)")) }
  }

  @Test func `users of the gateway have one layer each, and no scope in common`() throws {
    let users = try users(10)
    let (ada, bob) = (users.user("ada").layer, users.user("bob").layer)
    #expect(ada === users.user("ada").layer && ada !== bob && ada.scope != bob.scope)
  }

  @Test func `are forgotten beyond the limit, those first that were not seen for longest`() throws {
    let users = try users(10)
    let ada = users.user("ada").layer
    for number in 0..<100 {
      _ = users.user("\(number)")
      #expect(users.user("ada").layer === ada)
      #expect(users.count <= 10)
    }
    let first = users.user("0").layer
    #expect(first === users.user("0").layer)
  }
}

@Suite("Settings of the gateway") struct SettingsTests {
  private static let required = [
    "CATALOGUE_URL": "http://a", "STOCK_URL": "https://b/x", "ACCOUNT_URL": "http://127.0.0.1:1",
  ]

  private func settings(_ variables: [String: String]) throws(SettingError) -> GatewaySettings {
    try GatewaySettings(ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables)))
  }

  @Test func `settings of the gateway have defaults for all but the APIs`() throws {
    let settings = try settings(Self.required)
    #expect(settings.host == "127.0.0.1" && settings.port == 8080 && settings.adminPort == 9090)
    #expect(settings.inspectorPassword == nil && settings.fleet == nil && settings.store == nil)
    #expect(settings.maximumConnections == 1024 && settings.maximumUsers == 1000)
    #expect(settings.shutdownDelay == .zero && settings.logLevel == "info")
  }

  @Test(arguments: [
    ("CATALOGUE_URL", "", "CATALOGUE_URL: it is not set"),
    ("STOCK_URL", "ftp://x", "STOCK_URL: 'ftp://x' is no http or https URL"),
    ("HTTP_PORT", "x", "HTTP_PORT: 'x' is no number from 0 to 65535"),
    ("HTTP_PORT", "70000", "HTTP_PORT: '70000' is no number from 0 to 65535"),
    ("USERS_MAX", "0", "USERS_MAX: '0' is no number from 1 to 1000000"),
    ("INSPECTOR_PASSWORD", "short", "INSPECTOR_PASSWORD: it has fewer than 16 characters"),
  ])
  func `that cannot be used are refused by name`(_ name: String, _ value: String, _ message: String) {
    let error = #expect(throws: SettingError.self) { try settings(Self.required.merging([name: value]) { $1 }) }
    #expect(error?.description == message)
  }

  @Test func `settings with an invalid fleet address are refused, and the error hides the password`() {
    let error = #expect(throws: SettingError.self) {
      try settings(Self.required.merging(["FLEET": "http://user:geheim@x"]) { $1 })
    }
    #expect(error?.description.hasPrefix("FLEET: ") == true && error?.description.contains("geheim") == false)
  }
}

@Suite("Metrics as text") struct PrometheusTextTests {
  @Test func `metrics as text are in the order of their names, with their dimensions`() {
    let metrics = PrometheusText()
    metrics.makeCounter(label: "b.hits", dimensions: [("model", "A\"\\\nB")]).increment(by: 2)
    metrics.makeCounter(label: "b.hits", dimensions: [("model", "A\"\\\nB")]).increment(by: 3)
    metrics.makeRecorder(label: "a.models", dimensions: [], aggregate: false).record(Int64(7))
    #expect(
      metrics.text == """
        # TYPE a_models gauge
        a_models 7.0
        # TYPE b_hits_total counter
        b_hits_total{model="A\\"\\\\\\nB"} 5.0

        """)
  }

  @Test func `metrics as text have histograms whose buckets add up`() {
    let metrics = PrometheusText()
    let recorder = metrics.makeRecorder(label: "d", dimensions: [("x", "y")], aggregate: true)
    for value in [0.001, 0.3, 0.3, 99] { recorder.record(value) }
    let lines = metrics.text.split(separator: "\n")
    #expect(lines.contains("d_bucket{x=\"y\",le=\"0.005\"} 1") && lines.contains("d_bucket{x=\"y\",le=\"0.5\"} 3"))
    #expect(lines.contains("d_bucket{x=\"y\",le=\"10.0\"} 3") && lines.contains("d_bucket{x=\"y\",le=\"+Inf\"} 4"))
    #expect(lines.contains("d_sum{x=\"y\"} 99.601") && lines.contains("d_count{x=\"y\"} 4"))
  }
}
