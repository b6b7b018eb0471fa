extension FilePersistence {
  /// Reads every record whole; gives those that cannot be read, each with its file. Nothing is changed. A record that goes
  /// meanwhile is none.
  ///
  /// - Throws: ``FilePersistenceError`` where a directory cannot be listed; `CancellationError`.
  @concurrent public func verify() async throws -> [StoreDefect] {
    var defects: [StoreDefect] = []
    for folder in try names.buckets(of: nil, system) {
      for name in try system.list(folder).sorted() where FileNames.isRecord(name) {
        try Task.checkCancellation()
        let path = "\(folder)/\(name)"
        do {
          guard let file = try system.open(path) else { continue }
          let record = try RecordFile(file, reading: 64 << 10).record()
          guard let key = RecordKey(identity: record.head.identity), try names.path(of: key) == path else {
            throw RecordError.corrupt("it belongs to another key than its name says")
          }
        } catch {
          defects.append(StoreDefect(place: path, reason: "\(error)"))
        }
      }
    }
    return defects
  }
}
