// A stand-in for the few declarations of SwiftUI that the documentation uses, so that its code is
// type-checked on platforms without SwiftUI. Nothing is ever drawn: a body is never called. Where
// SwiftUI can be imported, the documentation is compiled against SwiftUI itself. Signatures follow
// SwiftUI's, with the generality left out that the examples do not need.

@MainActor @preconcurrency
public protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}

/// A view of the stand-in itself.
public protocol PrimitiveView: View where Body == NoBody {}

extension PrimitiveView {
  public var body: NoBody { NoBody() }
}

public struct NoBody: View {
  nonisolated init() {}

  public var body: NoBody { self }
}

public struct EmptyView: PrimitiveView {
  nonisolated public init() {}
}

public struct TupleView<each Content: View>: PrimitiveView {}

public struct ConditionalContent<First: View, Second: View>: PrimitiveView {}

extension Optional: View where Wrapped: View {
  public var body: NoBody { NoBody() }
}

@resultBuilder
public enum ViewBuilder {
  public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
  public static func buildBlock() -> EmptyView { EmptyView() }
  public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<repeat each Content> {
    TupleView()
  }
  public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
  public static func buildEither<First: View, Second: View>(first: First) -> ConditionalContent<First, Second> {
    ConditionalContent()
  }
  public static func buildEither<First: View, Second: View>(second: Second) -> ConditionalContent<First, Second> {
    ConditionalContent()
  }
}

/// It has its first value for ever, since nothing is drawn.
@propertyWrapper
public struct State<Value> {
  private let value: Value

  public init(wrappedValue value: Value) { self.value = value }
  public init(initialValue value: Value) { self.value = value }

  public var wrappedValue: Value {
    get { value }
    nonmutating set {}
  }
}

extension State: Sendable where Value: Sendable {}
