import Foundation
import HTTPTypes
import Testing

@testable import ReactorCore

@Suite struct `Redirects as values` {
  @Test(
    arguments: [
      ("https://a.example/", "http://a.example/", false), ("http://a.example/", "http://A.example:80/x", true),
      ("https://a.example:443/", "https://a.example/", true), ("https://a.example/", "https://a.example:8443/", false),
      ("https://a.example/", "https://b.a.example/", false), ("https://a.example/", "//a.example/x", true),
      ("https://a.example/", "https://user:pw@a.example/", true), ("http://[::1]:80/", "http://[::1]/", true),
    ])
  func `credentials go on where scheme, host and port are the same`(from: String, location: String, isSame: Bool) throws
  {
    let url = try #require(URL(string: from))
    let request = HTTPRequest(method: .get, url: url, headerFields: [.authorization: "t"])
    var response = HTTPResponse(status: .found)
    response.headerFields[.location] = location
    let next = try #require(Redirect(request: request, body: nil).next(after: response))
    #expect((next.request.headerFields[.authorization] != nil) == isSame)
    #expect(next.request.authority?.contains("@") == false)
  }
}
