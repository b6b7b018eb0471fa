#if Sealing
  import Foundation
  import HTTPCaching
  import TestSupport
  import Testing

  @testable import ReactorSealing

  @Suite(.timeLimit(.minutes(5))) struct `Keys in files` {
    @Test func `are created once, and only their owner may read them`() async throws {
      try await withTemporaryDirectory { directory in
        let all = await withTaskGroup(of: SealingKeys?.self) { group in
          for _ in 0..<8 { group.addTask { try? FileSealingKeys(directory: directory).keys(of: "ada") } }
          return await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(all.count == 1 && !all.contains(nil))
        let keys = FileSealingKeys(directory: directory)
        let store = try keys.storeKey()
        #expect(try FileSealingKeys(directory: directory).storeKey() == store)
        #expect(try keys.keys(of: "bob") != keys.keys(of: "ada"))
        #expect(files(in: directory).count == 3)
        for file in files(in: directory) {
          #expect(try attribute(.posixPermissions, of: file) as? Int == 0o600)
          #expect(!file.path().contains("ada"))
        }
        #expect(try attribute(.posixPermissions, of: directory) as? Int == 0o700)
      }
    }

    @Test func `are rotated, and removed`() async throws {
      try await withTemporaryDirectory { directory in
        let keys = FileSealingKeys(directory: directory)
        let first = try keys.keys(of: "ada").current
        let second = try keys.addKey(of: "ada")
        #expect(try keys.keys(of: "ada") == SealingKeys(current: second, older: [first]))
        let third = try FileSealingKeys(directory: directory).addKey(of: "ada")
        #expect(try keys.keys(of: "ada") == SealingKeys(current: third, older: [second, first]))
        #expect(
          await sealingError { try keys.removeOlderKeys(of: "ada", keeping: second.id) }
            == .otherCurrentKey(third.id, scope: "ada"))
        #expect(try keys.keys(of: "ada").older.count == 2)
        try keys.removeOlderKeys(of: "ada", keeping: third.id)
        #expect(try keys.keys(of: "ada") == SealingKeys(current: third))
        try keys.removeKeys(of: "ada")
        #expect(try keys.keys(of: "ada").current != third)
      }
    }

    @Test func `leave none behind in the files of changes that were interrupted`() async throws {
      try await withTemporaryDirectory { directory in
        let keys = FileSealingKeys(directory: directory)
        try keys.addKey(of: "ada")
        for body in [{ try keys.addKey(of: "ada") }, { try keys.removeKeys(of: "ada") }] as [() throws -> Void] {
          let left = directory.appending(path: ".\(UUID().uuidString).temporary")
          try Data("all keys".utf8).write(to: left)
          try body()
          #expect(!FileManager.default.fileExists(atPath: left.path(percentEncoded: false)))
        }
      }
    }

    @Test func `are an error where others may read them or they are damaged, and are not replaced`() async throws {
      try await withTemporaryDirectory { directory in
        let keys = FileSealingKeys(directory: directory)
        _ = try keys.storeKey()
        let file = try #require(files(in: directory).first)
        let path = file.path(percentEncoded: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(await sealingError { _ = try keys.storeKey() } == .exposedKeys(path: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let whole = try Data(contentsOf: file)
        for count in 0..<whole.count {
          try whole.prefix(count).write(to: file)
          #expect(await sealingError { _ = try keys.storeKey() } == .invalidKeys(path), "\(count) bytes")
          #expect(try Data(contentsOf: file) == whole.prefix(count))
        }
      }
    }
  }

  @Suite struct `Keys in the environment` {
    private let master = SealingKey(bytes: 0..<32)

    @Test func `are derived for each scope, the first being the current one`() throws {
      let (master, old) = (try #require(master), SealingKey())
      let keys = try EnvironmentSealingKeys(
        store: "S", keys: "K",
        environment: ["S": old.base64, "K": "\(master.base64), \(old.base64)"])
      #expect(keys.storeKey() == old)
      let ada = try keys.keys(of: "ada")
      #expect(StoreKeys.hex(ada.current.bytes) == "478261660976c3fbe2696bf174d9e2dabd41cc89cef5b5416b8d748b5f68fa12")
      #expect(ada.older.count == 1)
      #expect(try keys.keys(of: "bob").current != ada.current)
    }

    @Test(arguments: ["", "x", "AAAA", SealingKey().base64 + ",", SealingKey().base64 + "," + "AAAA"])
    func `are an error that names the variable and no key`(_ text: String) async throws {
      let error = await sealingError {
        _ = try EnvironmentSealingKeys(store: "S", keys: "K", environment: ["S": SealingKey().base64, "K": text])
      }
      #expect(error == .invalidKeys("$K"))
      let missing = await sealingError { _ = try EnvironmentSealingKeys(store: "S", keys: "K", environment: [:]) }
      #expect(missing == .invalidKeys("$S"))
    }

    @Test func `never appear in a description`() throws {
      let key = try #require(master)
      #expect("\(key)" == "SealingKey(441bfb9f4ee64a4f)")
      #expect(!"\(SealingKeys(current: key))".contains(key.base64))
      var text = ""
      dump(SealingKeys(current: key, older: [key]), to: &text)
      #expect(!text.contains("31"))
    }
  }
#endif
