// The few declarations of BackgroundTasks that the documentation uses.

public import Dispatch
public import Foundation

open class BGTask: NSObject {
  public let identifier = ""
  open var expirationHandler: (() -> Void)?

  open func setTaskCompleted(success: Bool) {}
}

open class BGTaskRequest: NSObject {
  fileprivate init(_ identifier: String) {}
}

open class BGProcessingTaskRequest: BGTaskRequest {
  open var requiresNetworkConnectivity = false

  public init(identifier: String) { super.init(identifier) }
}

open class BGTaskScheduler: NSObject, @unchecked Sendable {
  public static let shared = BGTaskScheduler()

  @discardableResult open func register(
    forTaskWithIdentifier identifier: String, using queue: DispatchQueue?,
    launchHandler: @escaping @Sendable (BGTask) -> Void
  ) -> Bool { true }

  open func submit(_ request: BGTaskRequest) throws {}
}
