import ReactorCore
// `Latch` is part of what this package's tests use of this module.
@_exported public import ReactorLoopback
