#if Valkey
  import Foundation
  import HTTPCaching
  public import ReactorFleet

  extension ValkeyStore {
    /// The records of a fleet and their server, as ``verify()`` has found them.
    public struct Verification: Sendable, Hashable {
      /// The number of records with a response.
      public var records = 0
      /// The keys and names of the records that cannot be read, each with the reason.
      public var bad: [String] = []
      /// The properties of the server that keep a fleet from working well, each with its remedy.
      public var problems: [String] = []
    }

    /// Reads every record of the fleet, and checks it. Looks also whether the server suits a fleet.
    ///
    /// ```swift
    /// let found = try await store.verify()
    /// for problem in found.problems + found.bad { print(problem) }
    /// ```
    ///
    /// A server treats a record that cannot be read as a miss, and stores another in its place.
    /// Records that are stored or removed meanwhile may be left out. On a cluster, only the node
    /// that the client asks is read.
    ///
    /// The user of the server needs two more permissions for it: `+scan +hkeys`.
    ///
    /// - Throws: The error of the server. Cancellation throws `FleetError.unavailable(_:)`.
    public func verify() async throws(FleetError) -> Verification {
      var found = Verification()
      found.problems = try await problems()
      var cursor = "0"
      var seen: Set<Data> = []
      repeat {
        guard !Task.isCancelled else { throw .unavailable("it was cancelled") }
        let reply = try await call(["SCAN", cursor, "MATCH", key(of: FleetURLID(text: "*")), "COUNT", "500"], key: nil)
        guard let parts = reply.elements, parts.count == 2, let next = parts[0].text, let keys = parts[1].elements
        else {
          throw .wrongData("SCAN has answered \(reply)")
        }
        cursor = next
        // A key may come more than once.
        for key in keys.compactMap(\.bytes) where seen.insert(key).inserted {
          try await check(String(decoding: key, as: UTF8.self), &found)
        }
      } while cursor != "0"
      return found
    }

    /// Checks the records of a key, one after the other: a reply may not hold all of them.
    private func check(_ key: String, _ found: inout Verification) async throws(FleetError) {
      let fields: [String]
      do throws(FleetError) {
        fields = try await call(["HKEYS", key], key: key).elements?.compactMap(\.text) ?? []
      } catch {
        guard case .wrongData(let reason) = error else { throw error }
        return found.bad.append("\(key): \(reason)")
      }
      for record in fields.filter({ $0.hasPrefix("v:") }).map({ $0.dropFirst(2) }).sorted() {
        let reply = try await call(["HMGET", key, "h:\(record)", "b:\(record)", "v:\(record)"], key: key)
        guard let parts = reply.elements, parts.count == 3 else { throw .wrongData("HMGET has answered \(reply)") }
        // It was removed meanwhile.
        guard parts[2] != .null else { continue }
        found.records += 1
        do {
          guard let head = parts[0].bytes else { throw Record.Failure.truncated }
          _ = try RecordCodec.decode(head: head, body: parts[1].bytes ?? Data())
        } catch {
          found.bad.append("\(key) \(record): \(error)")
        }
      }
    }

    /// Checks whether the server accepts writes, is recent enough, and evicts suitably when it is
    /// full.
    private func problems() async throws(FleetError) -> [String] {
      let reply = try await call(["INFO"], key: nil)
      guard let text = reply.text else { throw .wrongData("INFO has answered \(reply)") }
      let info = ServerInfo(text)
      var problems = info.problems
      // A replica refuses each write, so a write shows nothing more.
      guard !info.isReplica else { return problems }
      do throws(FleetError) {
        _ = try await beat("verify", nonce: 1, scopes: [])
        _ = try await nodes()
        _ = try await read(FleetRecordID(url: FleetURLID(text: "verify"), name: "0"), known: nil)
      } catch {
        // A server that does not answer is not a finding.
        if case .unavailable = error { throw error }
        problems.append("the server does not accept a fleet's commands: \(error.reason)")
      }
      return problems
    }
  }

  /// The properties that a server reports about itself.
  struct ServerInfo: Sendable {
    private var values: [String: String] = [:]

    init(_ text: String) {
      for line in text.split(whereSeparator: \.isNewline) {
        guard let colon = line.firstIndex(of: ":") else { continue }
        values[String(line[..<colon])] = String(line[line.index(after: colon)...])
      }
    }

    private func number(_ name: String) -> Int { values[name].flatMap { Int($0) } ?? 0 }

    /// The properties that keep a fleet from working well, each with its remedy.
    var problems: [String] { [role, version, memory].compactMap(\.self) }

    var isReplica: Bool { values["role"] == "slave" }

    private var role: String? {
      guard isReplica else { return nil }
      let primary = values["master_host"].map { " (\($0):\(values["master_port"] ?? "6379"))" } ?? ""
      return "the server is a replica, which takes no changes; give the address of its primary\(primary)"
    }

    private var version: String? {
      let isValkey = values["server_name"] == "valkey"
      guard let text = values[isValkey ? "valkey_version" : "redis_version"] else { return nil }
      let parts = text.split(separator: ".").map { Int($0) ?? 0 }
      guard parts.lexicographicallyPrecedes(isValkey ? [7, 2] : [7]) else { return nil }
      return "the server is \(isValkey ? "Valkey" : "Redis") \(text); use Redis 7, Valkey 7.2 or a later one"
    }

    private var memory: String? {
      let (limit, policy) = (number("maxmemory"), values["maxmemory_policy"] ?? "")
      guard limit > 0 else { return nil }
      switch policy {
      case "noeviction":
        return number("used_memory") >= limit
          ? "the server is full (maxmemory \(limit)) and takes no changes; give it memory, or maxmemory-policy volatile-ttl"
          : "the server takes no changes once it is full (maxmemory-policy noeviction); use volatile-ttl or allkeys-lru"
      case "allkeys-random", "volatile-random":
        return "the server evicts at random (maxmemory-policy \(policy)), which makes fleets ask anew; use volatile-ttl"
      default: return nil
      }
    }
  }
#endif
