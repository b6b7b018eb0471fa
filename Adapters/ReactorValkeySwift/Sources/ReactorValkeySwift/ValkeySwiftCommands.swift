public import Foundation
import NIOCore
public import ReactorFleet
public import ReactorValkey
public import Valkey

/// The commands of a ``ValkeyStore`` over a client of valkey-swift: a `ValkeyClient`, or a
/// `ValkeyClusterClient`.
///
/// ```swift
/// let client = ValkeyClusterClient(…)
/// let store = try ValkeyStore(ValkeySwiftCommands(client), namespace: "catalog")
/// ```
///
/// The client's `run()` must run. Set its `commandTimeout` to about a second: it is 30 by default.
public struct ValkeySwiftCommands<Client: ValkeyClientProtocol & Sendable>: ValkeyCommands {
  private let client: Client

  /// Creates the commands of a client, whose `run()` is another's.
  public init(_ client: Client) { self.client = client }

  /// See `ValkeyCommands.send(_:key:)`.
  public func send(_ arguments: [Data], key: Data?) async throws(FleetError) -> ValkeyReply {
    // The cancellation of one command closes its connection in valkey-swift, and fails what others
    // have sent there. So each runs in a task of its own.
    let command = RawCommand(arguments: arguments, keysAffected: key.map { [ValkeyKey($0)] } ?? [])
    let task = Task { [client] in try await client.execute(command) }
    do { return ValkeyReply(try await task.value.value) } catch let error as ValkeyClientError {
      // An error of the server is a reply.
      if error.errorCode == .commandError, let message = error.message { return .error(message) }
      throw .unavailable("\(error)")
    } catch {
      throw .unavailable("\(error)")
    }
  }

  /// See `ValkeyCommands.subscribe(to:_:)`.
  public func subscribe(
    to channels: [Data], _ body: @escaping @Sendable ((channel: Data, message: Data)?) -> Void
  ) async throws(FleetError) {
    let names = channels.map { String(decoding: $0, as: UTF8.self) }
    do {
      try await client.subscribe(to: names) { subscription in
        body(nil)
        for try await message in subscription {
          body((Data(message.channel.utf8), Data(ByteBuffer(message.message).readableBytesView)))
        }
      }
    } catch {
      guard !Task.isCancelled else { return }
      throw .unavailable("\(error)")
    }
    guard !Task.isCancelled else { return }
    throw .unavailable("the subscription has ended")
  }
}

/// A command as its arguments, which are bytes: `EVALSHA` of valkey-swift takes strings.
private struct RawCommand: ValkeyCommand {
  static var name: String { "RAW" }

  var arguments: [Data]
  var keysAffected: [ValkeyKey]

  func encode(into commandEncoder: inout ValkeyCommandEncoder) {
    commandEncoder.encodeArray(arguments.map(Argument.init))
  }

  /// An argument, as one element of the command.
  private struct Argument: RESPRenderable {
    let bytes: Data

    init(_ bytes: Data) { self.bytes = bytes }

    var respEntries: Int { 1 }
    func encode(into commandEncoder: inout ValkeyCommandEncoder) { bytes.encode(into: &commandEncoder) }
  }
}

extension ValkeyReply {
  /// Creates a reply from a value of valkey-swift.
  init(_ value: RESPToken.Value) {
    self =
      switch value {
      case .simpleString(let bytes), .bulkString(let bytes): .string(Data(bytes.readableBytesView))
      // Three letters name the format, and a colon follows.
      case .verbatimString(let bytes): .string(Data(bytes.readableBytesView.dropFirst(4)))
      case .simpleError(let bytes), .bulkError(let bytes): .error(String(buffer: bytes))
      case .number(let number): .integer(number)
      case .double(let number): .number("\(number)")
      case .bigNumber(let bytes): .number(String(buffer: bytes))
      case .boolean(let flag): .boolean(flag)
      case .null: .null
      case .array(let elements), .set(let elements): .array(elements.map { ValkeyReply($0.value) })
      case .push(let elements): .push(elements.map { ValkeyReply($0.value) })
      case .map(let elements): .map(elements.flatMap { [ValkeyReply($0.key.value), ValkeyReply($0.value.value)] })
      case .attribute: .null
      }
  }
}
