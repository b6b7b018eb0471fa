extension AsyncIteratorProtocol where Failure == Never {
  /// The next element that passes.
  public mutating func first(where isMet: (Element) -> Bool) async -> Element? {
    while let element = await next(isolation: nil) {
      if isMet(element) { return element }
    }
    return nil
  }
}
