#if Valkey
  import Foundation
  import ReactorFleet
  import Synchronization

  extension ValkeyCommands {
    /// Runs a script by its digest, and by its text where the server does not know it.
    ///
    /// - Throws: also the error that the server has answered.
    func run(
      _ script: ValkeyScript, _ loaded: LoadedScripts, _ key: String, _ arguments: [Data]
    ) async throws(FleetError) -> ValkeyReply {
      let rest = [Data("1".utf8), Data(key.utf8)] + arguments
      if let digest = loaded.digest(of: script) {
        let reply = try await send([Data("EVALSHA".utf8), digest] + rest, key: Data(key.utf8))
        guard case .error(let text) = reply else { return reply }
        guard text.hasPrefix("NOSCRIPT") else { throw FleetError(server: text) }
      } else if case .string(let digest)? = try? await send(
        [Data("SCRIPT".utf8), Data("LOAD".utf8), Data(script.text.utf8)], key: Data(key.utf8))
      {
        loaded.learn(digest, of: script)
      }
      let reply = try await send([Data("EVAL".utf8), Data(script.text.utf8)] + rest, key: Data(key.utf8))
      if case .error(let text) = reply { throw FleetError(server: text) }
      return reply
    }
  }

  /// The digests by which the server knows the scripts.
  final class LoadedScripts: Sendable {
    private let digests = Mutex<[String: Data]>([:])

    func digest(of script: ValkeyScript) -> Data? { digests.withLock { $0[script.name] } }
    func learn(_ digest: Data, of script: ValkeyScript) { digests.withLock { $0[script.name] = digest } }
  }
#endif
