#if os(macOS) || os(Linux)
  import ReactorCore

  /// The known state of a store that ``KilledWriter`` writes to: no key may lose a value that was
  /// acknowledged or seen once.
  struct StoreView: Sendable {
    /// The newest version of each number that must be there.
    private var known: [Int: Int] = [:]

    mutating func note(_ acknowledged: [Int: Int]) { known.merge(acknowledged) { max($0, $1) } }

    /// Reads every key.
    ///
    /// - Returns: what should not be.
    mutating func faults(of store: any Persistence) async -> [String] {
      var faults: [String] = []
      for number in 0..<WrittenRecord.keyCount {
        do {
          let record = try await store.load(WrittenRecord(number: number, version: 0).key)
          guard let record else {
            if let version = known[number] { faults.append("\(number) is gone, was of version \(version)") }
            continue
          }
          guard let written = WrittenRecord(record, number: number) else {
            faults.append("\(number) is not what anybody saved")
            continue
          }
          if let version = known[number], written.version < version {
            faults.append("\(number) is of version \(written.version), was of \(version)")
          }
          known[number] = written.version
        } catch {
          faults.append("\(number): \(error)")
        }
      }
      return faults
    }
  }
#endif
