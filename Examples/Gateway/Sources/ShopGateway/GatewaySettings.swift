public import Configuration
public import Foundation
public import ReactorValkey

/// The settings of a gateway, from the environment.
///
/// | Variable | Meaning | Default |
/// | --- | --- | --- |
/// | `CATALOGUE_URL`, `STOCK_URL`, `ACCOUNT_URL` | the upstream APIs | none, required |
/// | `HTTP_HOST`, `HTTP_PORT` | the address for clients; port 0 is a free one | `127.0.0.1`, `8080` |
/// | `ADMIN_PORT` | the port for metrics and the inspector, on this machine only | `9090` |
/// | `INSPECTOR_PASSWORD` | at least 16 characters; without it, there is no inspector | none |
/// | `FLEET` | `redis://…` of the store that several gateways share | none |
/// | `STORE` | a directory for the responses that everyone may see | only memory |
/// | `CONNECTIONS_MAX` | open connections of clients; further ones wait | `1024` |
/// | `USERS_MAX` | users whose data is in memory | `1000` |
/// | `SHUTDOWN_DELAY` | seconds between SIGTERM and the end, with `/health/ready` failing | `0` |
/// | `LOG_LEVEL` | of swift-log | `info` |
public struct GatewaySettings: Sendable {
  public var catalogue: URL
  public var stock: URL
  public var account: URL
  public var host: String
  public var port: Int
  public var adminPort: Int
  public var inspectorPassword: String?
  public var fleet: ValkeyAddress?
  public var store: URL?
  public var maximumConnections: Int
  public var maximumUsers: Int
  public var shutdownDelay: Duration
  public var logLevel: String

  /// Reads the settings.
  ///
  /// - Throws: ``SettingError`` for the first setting that is missing or invalid.
  public init(_ reader: ConfigReader) throws(SettingError) {
    let variables = Variables(reader: reader)
    catalogue = try variables.url("catalogue.url")
    stock = try variables.url("stock.url")
    account = try variables.url("account.url")
    host = variables.text("http.host") ?? "127.0.0.1"
    port = try variables.number("http.port", in: 0...65_535) ?? 8080
    adminPort = try variables.number("admin.port", in: 0...65_535) ?? 9090
    inspectorPassword = variables.text("inspector.password", isSecret: true)
    if let inspectorPassword, inspectorPassword.utf8.count < 16 {
      throw SettingError(name: "inspector.password", reason: "it has fewer than 16 characters")
    }
    if let text = variables.text("fleet", isSecret: true) {
      do { fleet = try ValkeyAddress(text) } catch { throw SettingError(name: "fleet", reason: "\(error)") }
    }
    store = variables.text("store").map { URL(filePath: $0, directoryHint: .isDirectory) }
    maximumConnections = try variables.number("connections.max", in: 1...100_000) ?? 1024
    maximumUsers = try variables.number("users.max", in: 1...1_000_000) ?? 1000
    shutdownDelay = .seconds(try variables.number("shutdown.delay", in: 0...3600) ?? 0)
    logLevel = variables.text("log.level") ?? "info"
  }
}

/// A setting that cannot be used.
public struct SettingError: Error, CustomStringConvertible {
  let name: String
  let reason: String

  public var description: String { "\(name.replacing(".", with: "_").uppercased()): \(reason)" }
}

private struct Variables {
  let reader: ConfigReader

  func text(_ name: String, isSecret: Bool = false) -> String? {
    reader.string(forKey: ConfigKey(name.split(separator: ".").map(String.init)), isSecret: isSecret)
      .flatMap { $0.isEmpty ? nil : $0 }
  }

  func url(_ name: String) throws(SettingError) -> URL {
    guard let text = text(name) else { throw SettingError(name: name, reason: "it is not set") }
    guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host() != nil else {
      throw SettingError(name: name, reason: "'\(text)' is no http or https URL")
    }
    return url
  }

  func number(_ name: String, in range: ClosedRange<Int>) throws(SettingError) -> Int? {
    guard let text = text(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw SettingError(name: name, reason: "'\(text)' is no number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
