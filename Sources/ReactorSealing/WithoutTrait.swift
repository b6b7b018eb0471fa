#if !Sealing
  import Foundation
  public import HTTPCaching
  public import ReactorOutbox

  // Without the trait, the declarations exist too, so that the compiler only reports the missing
  // trait.

  /// Seals what an app stores. Available only with the trait `Sealing`.
  @available(
    *, unavailable,
    message:
      "add traits: [\"Sealing\"] to the package dependency on Reactor, so that swift-crypto is there and this is built"
  )
  public final class Sealing: Sendable {
    /// Unavailable without the trait `Sealing`.
    public init(keys: any SealingKeyProvider) {}
    /// Unavailable without the trait `Sealing`.
    public func reload() {}
  }

  /// A persistence whose records are sealed. Available only with the trait `Sealing`.
  @available(
    *, unavailable,
    message:
      "add traits: [\"Sealing\"] to the package dependency on Reactor, so that swift-crypto is there and this is built"
  )
  public final class SealedPersistence: Sendable {
    /// Unavailable without the trait `Sealing`.
    public init(_ base: some Persistence, sealing: Sealing) {}
  }

  /// A storage of an outbox whose entries are sealed. Available only with the trait `Sealing`.
  @available(
    *, unavailable,
    message:
      "add traits: [\"Sealing\"] to the package dependency on Reactor, so that swift-crypto is there and this is built"
  )
  public final class SealedOutboxStorage: Sendable {
    /// Unavailable without the trait `Sealing`.
    public init(_ base: some OutboxStorage, sealing: Sealing) {}
  }
#endif
