import CMeasuring

/// Uses `value`, as far as the compiler can know: what makes it is not left out.
@inline(__always) func blackHole<Value>(_ value: Value) {
  withUnsafePointer(to: value) { measuring_use($0) }
}
