import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The page, its scripts and its looks: the package's own, and nothing from elsewhere.
struct PageFiles: Sendable {
  private static let screens: [RouterPath] = ["/", "/search", "/reading-list", "/articles/{id}", "/authors/{id}"]

  private static let scripts = ["newsroom.js", "elements.js", "comments.js", "outbox.js", "frontpage.js"]

  func add(to router: Router<BasicRequestContext>) throws {
    let page = try file("index.html", "text/html; charset=utf-8")
    for path in Self.screens { router.get(path) { _, _ in page } }
    for name in Self.scripts {
      let script = try file(name, "text/javascript; charset=utf-8")
      router.get("\(name)") { _, _ in script }
    }
    let style = try file("newsroom.css", "text/css; charset=utf-8")
    router.get("newsroom.css") { _, _ in style }
    let icon = try file("icon.svg", "image/svg+xml")
    router.get("icon.svg") { _, _ in icon }
  }

  private func file(_ name: String, _ type: String) throws -> Response {
    let bytes = try Data(contentsOf: Bundle.module.bundleURL.appending(path: "Page/\(name)"))
    var fields: HTTPFields = [.contentType: type, .cacheControl: "no-cache", .xContentTypeOptions: "nosniff"]
    fields[.contentSecurityPolicy] = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    return Response(status: .ok, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}
