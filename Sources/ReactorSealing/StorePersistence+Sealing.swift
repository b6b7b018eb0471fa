#if Sealing
  public import HTTPCaching
  import Foundation
  public import ReactorFlux

  extension StorePersistence {
    /// Creates a persistence whose states are sealed.
    ///
    /// ```swift
    /// let persistence = StorePersistence(
    ///   directory: directory.path, sealing: sealing, scope: Scope(user.id),
    ///   encode: { try JSONEncoder().encode($0) },
    ///   decode: { try JSONDecoder().decode($0, from: Data($1)) })
    /// ```
    ///
    /// A state belongs to its scope, its name and its version. If its key is missing or wrong, the
    /// file stays as it is, the store is not saved until the next launch, and `onFailure` gets
    /// `FluxError.stateNotReadable`. A state that was changed or never sealed is set aside. A state
    /// that an older key has sealed is saved again with the current one. The names and the versions
    /// of states are not sealed.
    ///
    /// - Parameters:
    ///   - directory: The path of the directory, which is created for the first save.
    ///   - sealing: The keys, which are read on the main actor when a state is restored.
    ///   - scope: The scope whose keys seal the states.
    ///   - delay: The time from the first change to the save.
    ///   - clock: The clock that measures `delay`.
    ///   - encode: A closure that encodes a state, off the main actor.
    ///   - decode: A closure that decodes a state of that type.
    public convenience init<Bytes: Collection<UInt8> & SendableMetatype>(
      directory: String, sealing: Sealing, scope: Scope, delay: Duration = .seconds(1),
      clock: any Clock<Duration> = ContinuousClock(),
      encode: @escaping @Sendable (any Encodable) throws -> Bytes,
      decode: @escaping @Sendable (any Decodable.Type, [UInt8]) throws -> any Decodable
    ) {
      self.init(directory: directory, delay: delay, clock: clock, encode: encode, decode: decode)
      seal = Seal(
        seal: { name, version, state in
          let keys = try sealing.keys(of: scope)
          return [UInt8](try SealFormat.seal(state, .state, at: Self.place(scope, name, version), with: keys.current))
        },
        open: { name, version, state in
          let keys = try sealing.keys(of: scope)
          let what = "the state \(name)"
          let sealed = Data(state)
          do {
            let content = try SealFormat.open(sealed, .state, at: Self.place(scope, name, version), what) {
              try sealing.key($0, of: scope)
            }
            return ([UInt8](content), try SealFormat.keyID(of: sealed, .state, what) != keys.current.id)
          } catch let error as SealingError {
            switch error {
            case .altered, .notSealed: throw Seal.Altered("\(error)")
            default: throw error
            }
          }
        })
    }

    /// The scope by its own name, so that another store key is not taken for damage.
    private nonisolated static func place(_ scope: Scope, _ name: String, _ version: Int) -> [[UInt8]] {
      [Array(scope.name.utf8), Array(name.utf8), Array("\(version)".utf8)]
    }
  }
#endif
