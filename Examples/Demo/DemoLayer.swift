import Foundation
import ReactorCore
import ReactorSQLite

/// The model layer of the demo, and of its second process.
enum DemoLayer {
  #if SQLite
    static let storage = "an SQLite file"
  #else
    static let storage = "files"
  #endif

  /// Opens the store in `directory`. Without the trait SQLite, it consists of files.
  static func open(_ url: URL, in directory: URL, _ configuration: ReactorConfiguration = .init()) throws -> ModelLayer
  {
    #if SQLite
      try ModelLayer(
        baseURL: url, persistence: .sqlite("news", in: directory), reachability: .always, configuration: configuration)
    #else
      ModelLayer(
        baseURL: url, persistence: FilePersistence(directory: directory.appending(path: "news")),
        reachability: .always, configuration: configuration)
    #endif
  }
}
