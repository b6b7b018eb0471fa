import CMeasuring

/// Uses `value`, as far as the compiler can tell, so that its computation is not optimized away.
@inline(__always) func blackHole<Value>(_ value: Value) {
  withUnsafePointer(to: value) { measuring_use($0) }
}
