#if Valkey
  import Foundation
  import NIOCore
  import ReactorFleet

  /// The first commands of a connection: they choose the version of the protocol, give the
  /// credentials, and check that the server has all keys.
  struct ValkeyIntroduction: Sendable {
    private let address: ValkeyAddress
    private let channel: any Channel
    private let failure: FirstError

    init(_ address: ValkeyAddress, _ channel: any Channel, _ failure: FirstError) {
      (self.address, self.channel, self.failure) = (address, channel, failure)
    }

    /// Returns the channel, once the server has agreed. Otherwise the channel is closed. A failure
    /// of TLS is the error, even if the connection was closed before it was reported.
    func begin() -> EventLoopFuture<any Channel> {
      hello().flatMap { mode in
        mode == "cluster" ? checkCluster() : channel.eventLoop.makeSucceededVoidFuture()
      }.flatMap {
        guard address.database != 0 else { return channel.eventLoop.makeSucceededVoidFuture() }
        return send(["SELECT", "\(address.database)"]).flatMapThrowing(Self.check)
      }.map { channel }.flatMapError { error in
        channel.close(promise: nil)
        return channel.closeFuture.flatMapThrowing { throw named(failure.value ?? error) }
      }
    }

    /// Returns the mode of the server; `nil` if it does not say.
    private func hello() -> EventLoopFuture<String?> {
      let credentials = address.password.map { [address.user ?? "default", $0] } ?? []
      let hello = send(["HELLO", "3"] + (credentials.isEmpty ? [] : ["AUTH"] + credentials))
      return hello.flatMap { reply -> EventLoopFuture<String?> in
        // A server that has no RESP3, or none of it for this user.
        guard case .error(let text) = reply, text.hasPrefix("ERR unknown") || text.hasPrefix("NOPROTO") else {
          return channel.eventLoop.makeCompletedFuture {
            try Self.check(reply)
            return reply.value(of: "mode")?.text
          }
        }
        guard let password = address.password else { return channel.eventLoop.makeSucceededFuture(nil) }
        return send(["AUTH"] + (address.user.map { [$0] } ?? []) + [password]).flatMapThrowing {
          try Self.check($0)
          return nil
        }
      }
    }

    /// Refuses one of several nodes, each of which has a part of the keys. It would carry out some
    /// commands, and not others.
    private func checkCluster() -> EventLoopFuture<Void> {
      send(["CLUSTER", "INFO"]).flatMapThrowing { reply in
        try Self.check(reply)
        let lines = reply.text?.split(whereSeparator: \.isNewline) ?? []
        let size = lines.first { $0.hasPrefix("cluster_size:") }.flatMap { Int($0.dropFirst("cluster_size:".count)) }
        guard let size, size > 1 else { return }
        throw FleetError.misconfigured(
          "the server is one of \(size) nodes of a cluster; give a server that has all keys, or a client for clusters")
      }
    }

    private func send(_ arguments: [String]) -> EventLoopFuture<ValkeyReply> {
      let reply = channel.eventLoop.makePromise(of: ValkeyReply.self)
      let bytes = RESPCommand.encode(arguments.map { Data($0.utf8) })
      channel.writeAndFlush(RESPCommand(bytes: bytes, reply: reply)).cascadeFailure(to: reply)
      return reply.futureResult
    }

    private static func check(_ reply: ValkeyReply) throws {
      if case .error(let text) = reply { throw FleetError(server: text) }
    }

    /// Names the usual cause if a connection is closed, or silent, before the first reply.
    private func named(_ error: any Error) -> any Error {
      guard case .unavailable(let reason) = ValkeyConnection.fleetError(error) else { return error }
      return FleetError.unavailable(
        address.isEncrypted
          ? "\(reason), before the first reply over TLS; a port without TLS does that, which redis:// is for"
          : "\(reason), before the first reply; a port with TLS does that, which rediss:// is for")
    }
  }

  extension ValkeyReply {
    /// The value of a key in a map, which RESP2 sends as an array.
    func value(of key: String) -> ValkeyReply? {
      guard let elements, elements.count % 2 == 0 else { return nil }
      return stride(from: 0, to: elements.count, by: 2).first { elements[$0].text == key }.map { elements[$0 + 1] }
    }
  }
#endif
