#if Valkey
  import Foundation
  import HTTPCaching
  public import ReactorFleet

  extension ValkeyStore {
    /// The records of a fleet, as ``verify()`` has found them.
    public struct Verification: Sendable, Hashable {
      /// The number of records with a response.
      public var records = 0
      /// The keys and names of those that cannot be read, each with the reason.
      public var bad: [String] = []
    }

    /// Reads every record of the fleet, and checks it.
    ///
    /// A server treats a record that cannot be read as a miss, and stores another in its place.
    /// Records that are stored or removed meanwhile may be left out. On a cluster, only the node
    /// that the client asks is read.
    ///
    /// The user of the server needs two more permissions for it: `+scan +hgetall`.
    ///
    /// - Throws: The error of the server. Cancellation throws `FleetError.unavailable(_:)`.
    public func verify() async throws(FleetError) -> Verification {
      var found = Verification()
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
        for key in keys.compactMap(\.bytes) where seen.insert(key).inserted { try await check(key, &found) }
      } while cursor != "0"
      return found
    }

    private func check(_ key: Data, _ found: inout Verification) async throws(FleetError) {
      let name = String(decoding: key, as: UTF8.self)
      let reply = try await call([Data("HGETALL".utf8), key], key: name)
      guard let parts = reply.elements, parts.count % 2 == 0 else { throw .wrongData("HGETALL has answered \(reply)") }
      var fields: [String: Data] = [:]
      for index in stride(from: 0, to: parts.count, by: 2) {
        if let field = parts[index].text { fields[field] = parts[index + 1].bytes }
      }
      for record in fields.keys.filter({ $0.hasPrefix("v:") }).map({ $0.dropFirst(2) }).sorted() {
        found.records += 1
        do {
          guard let head = fields["h:\(record)"] else { throw RecordError.truncated }
          _ = try RecordCodec.decode(head: head, body: fields["b:\(record)"] ?? Data())
        } catch {
          found.bad.append("\(name) \(record): \(error)")
        }
      }
    }
  }
#endif
