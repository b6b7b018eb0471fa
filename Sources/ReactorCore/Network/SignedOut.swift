/// The user has signed out, so nothing is sent in their name: see ``ModelLayer/signOut()``.
public struct SignedOut: Error, Hashable, CustomStringConvertible {
  public init() {}

  public var description: String { "signed out; give the authentication a credential with signIn(_:)" }
}
