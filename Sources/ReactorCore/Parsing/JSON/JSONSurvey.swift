/// One pass over a whole text: that it is JSON, which members stand twice, and where the value at a path is.
struct JSONSurvey: JSONVisitor {
  private(set) var locator: JSONLocator
  private(set) var duplicates = JSONDuplicates()

  init(_ path: JSONPath, collectsElements: Bool = false) {
    locator = JSONLocator(path, collecting: collectsElements ? .max : 0)
  }

  @inline(__always)
  mutating func visit(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) {
    duplicates.visit(token, in: bytes)
    locator.visit(token, in: bytes)
  }
}
