// Views of the stand-in for SwiftUI; see SwiftUIStandIn.swift.

public struct Text: PrimitiveView {
  public init(_ content: some StringProtocol) {}
}

public struct ProgressView: PrimitiveView {
  public init() {}
  public init(value: Double?) {}
}

public struct Button<Label: View>: PrimitiveView {}

extension Button where Label == Text {
  public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
}

public struct List<Content: View>: PrimitiveView {
  public init(@ViewBuilder content: () -> Content) {}

  public init<Data: RandomAccessCollection, Row: View>(
    _ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> Row
  ) where Data.Element: Identifiable, Content == ForEach<Data, Row> {}
}

public struct ForEach<Data: RandomAccessCollection, Content: View>: PrimitiveView {}

extension ForEach where Data.Element: Identifiable {
  public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) {}
}

public struct VStack<Content: View>: PrimitiveView {
  public init(@ViewBuilder content: () -> Content) {}
}

public struct NavigationStack<Root: View>: PrimitiveView {
  public init(@ViewBuilder root: () -> Root) {}
}

public struct NavigationLink<Label: View>: PrimitiveView {}

extension NavigationLink where Label == Text {
  public init(_ title: some StringProtocol, value: (some Hashable)?) {}
}

/// The result of a modifier.
public struct ModifiedView: PrimitiveView {}

extension View {
  public func overlay(@ViewBuilder content: () -> some View) -> some View { ModifiedView() }
  public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { ModifiedView() }
  public func task(@_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View { ModifiedView() }
  public func task(
    id value: some Equatable, @_inheritActorContext _ action: @escaping @Sendable () async -> Void
  ) -> some View { ModifiedView() }
  public func navigationTitle(_ title: some StringProtocol) -> some View { ModifiedView() }
  public func navigationDestination<Data: Hashable>(
    for data: Data.Type, @ViewBuilder destination: @escaping (Data) -> some View
  ) -> some View { ModifiedView() }
}
