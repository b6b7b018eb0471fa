import ArgumentParser
import Foundation
import ReactorFleet
import ReactorValkey

/// The value of `--fleet`: the URL of a Valkey or Redis server.
struct FleetArgument: Sendable {
  private let address: ValkeyAddress

  static func parse(_ text: String) throws -> FleetArgument {
    do {
      var address = try ValkeyAddress(text)
      address.password = address.password ?? ProcessInfo.processInfo.environment["REACTOR_FLEET_PASSWORD"]
      return FleetArgument(address: address)
    } catch { throw ValidationError(FleetLine.reason(error)) }
  }

  /// Returns the store of a fleet. Nothing is connected yet.
  func store(_ namespace: String) throws -> ValkeyStore {
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
      case .blind: "blind, the others are not heard; stored responses are used as before for a while"
      case .alone: "alone, this proxy asks by itself"
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
