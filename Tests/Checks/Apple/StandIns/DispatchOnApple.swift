// The part of Dispatch that only Apple systems have.

@_exported import Dispatch

public protocol DispatchSourceMemoryPressure: DispatchSourceProtocol {}

extension DispatchSource {
  public struct MemoryPressureEvent: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static var normal: Self { Self(rawValue: 1) }
    public static var warning: Self { Self(rawValue: 2) }
    public static var critical: Self { Self(rawValue: 4) }
  }

  public class func makeMemoryPressureSource(
    eventMask: MemoryPressureEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceMemoryPressure {
    preconditionFailure("a stand-in is compiled and never run")
  }
}
