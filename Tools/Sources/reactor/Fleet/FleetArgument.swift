import ArgumentParser
import Foundation
import ReactorFleet
import ReactorValkey

/// The value of `--fleet`: the URL of a Valkey or Redis server.
struct FleetArgument: Sendable {
  fileprivate let address: ValkeyAddress

  static func parse(_ text: String) throws -> FleetArgument {
    do {
      var address = try ValkeyAddress(text)
      address.password = address.password ?? ProcessInfo.processInfo.environment["REACTOR_FLEET_PASSWORD"]
      return FleetArgument(address: address)
    } catch { throw ValidationError(FleetLine.reason(error)) }
  }
}

/// The options of a connection over TLS.
struct FleetTLSOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The file of the authorities that are trusted with rediss://, in PEM. (default: the system's)",
      valueName: "path"))
  var fleetCA: String?

  @Option(
    help: ArgumentHelp(
      "The file of the client certificate, with its chain up to the authority, in PEM.",
      valueName: "path"))
  var fleetCertificate: String?

  @Option(
    help: ArgumentHelp(
      "The file of the certificate's key, in PEM. (default: the certificate's file)", valueName: "path"))
  var fleetKey: String?

  /// Returns the store of a fleet. Nothing is connected yet.
  func store(_ fleet: FleetArgument, _ namespace: String) throws -> ValkeyStore {
    var address = fleet.address
    (address.trustRoots, address.certificate, address.privateKey) = (fleetCA, fleetCertificate, fleetKey)
    let files = [fleetCA, fleetCertificate, fleetKey].compactMap(\.self)
    guard files.isEmpty || address.isEncrypted else {
      throw ValidationError("--fleet-ca, --fleet-certificate and --fleet-key are for an address with rediss://.")
    }
    guard fleetKey == nil || fleetCertificate != nil else {
      throw ValidationError("--fleet-key needs --fleet-certificate.")
    }
    if let missing = files.first(where: { !FileManager.default.isReadableFile(atPath: $0) }) {
      throw ValidationError("the file \(missing) cannot be read; check its path and its permissions")
    }
    do { return try ValkeyStore(address, namespace: namespace) } catch {
      throw ValidationError("--namespace: \(FleetLine.reason(error))")
    }
  }
}

/// A line about the connection of a fleet.
enum FleetLine {
  static func text(_ status: FleetStatus, _ error: FleetError?) -> String {
    let state =
      switch status {
      case .off: "off"
      case .following: "following"
      case .blind: "blind, no messages arrive; stored responses are used for a while"
      case .alone: "alone, this proxy contacts the upstream by itself"
      }
    return "fleet: \(state)" + (error.map { " (\(reason($0)))" } ?? "")
  }

  /// Returns the cause of an error without its remedy.
  static func reason(_ error: FleetError) -> String {
    switch error {
    case .unavailable(let reason), .readOnly(let reason), .misconfigured(let reason), .wrongData(let reason): reason
    @unknown default: "\(error)"
    }
  }
}
