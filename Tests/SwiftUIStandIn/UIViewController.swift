// A stand-in for UIKit's UIViewController, for the same purpose; see SwiftUIStandIn.swift.

@MainActor
open class UIViewController {
  public init() {}

  open func viewWillAppear(_ animated: Bool) {}
  open func viewWillLayoutSubviews() {}
  open func viewDidDisappear(_ animated: Bool) {}
}
