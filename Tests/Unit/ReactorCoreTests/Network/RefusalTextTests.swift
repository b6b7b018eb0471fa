import Foundation
import HTTPTypes
import ReactorCore
import Testing

/// The server's words in the text of a 401 and a 403.
@Suite struct `The words of a refusal` {
  private func text(_ body: String, _ status: Int = 401) -> String {
    let error = ReactorError.server(HTTPResponse(status: .init(code: status)), body: Data(body.utf8))
    guard let mark = error.description.range(of: " bytes: ") else { return "" }
    return String(error.description[mark.upperBound...].prefix { $0 != ";" })
  }

  @Test(arguments: [
    (#"{"title": "Expired", "detail": "The token is too old.", "instance": "/a"}"#, "Expired: The token is too old."),
    (#"{"message": "Bad credentials", "documentation_url": "https://a.example"}"#, "Bad credentials"),
    (#"{"error": "invalid_token", "error_description": "The token has expired"}"#, "The token has expired"),
    (#"{"error": "invalid_token"}"#, "invalid_token"), (#"{"error": {"code": 401, "message": "No."}}"#, "No."),
  ])
  func `the words of a refusal are a problem's, an OAuth server's, or a message`(body: String, words: String) {
    #expect(text(body) == words && text(body, 403) == words)
  }

  @Test(arguments: ["", "null", "[1]", "no", "{}", #"{"message": 1}"#, #"{"message": ""}"#, "<html>s3cret</html>"])
  func `an empty body has no words`(body: String) {
    #expect(text(body) == "")
  }

  @Test func `the words of a refusal are not shown of other answers`() {
    for status in [400, 404, 409, 422, 429, 500, 503] { #expect(text(#"{"message": "s3cret"}"#, status) == "") }
  }

  @Test func `the words of a refusal leave out what may be a token, an address or a query`() {
    let token = String(repeating: "x", count: 20)
    #expect(
      text(#"{"message": "\#(token) of ada@a.example for https://a.example/b?c=d\nis bad"}"#) == "… of … for … is bad")
    #expect(text(#"{"message": "Bad key 9f86d081, PIN 1234: 401"}"#) == "Bad key … PIN … 401")
    #expect(text(#"{"message": "a\#("\u{202E}")b"}"#) == "a b")
    let long = text(#"{"message": "\#(String(repeating: "word ", count: 100))"}"#)
    #expect(long.count == 161 && long.hasSuffix("…"))
    #expect(text(#"{"message": "\#(String(repeating: "word ", count: 5_000))"}"#) == "")
  }
}
