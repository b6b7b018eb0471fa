import Foundation
import HTTPTypes
import ReactorCore
import TestSupport
import Testing

@Suite("The words of a server about an error")
struct ProblemDetailsTests {
  private func failure(_ body: String, _ type: String = "application/problem+json") -> ReactorError {
    .server(HTTPResponse(status: .badRequest, headerFields: [.contentType: type]), body: Data(body.utf8))
  }

  @Test func `a problem has its members, and its extensions on demand`() throws {
    let problem = try #require(
      failure(
        #"{"type":"/credit","title":"No credit","status":403,"detail":"30 of 50","instance":"/a/1","balance":30}"#
      ).problem)
    #expect(problem.type == "/credit" && problem.title == "No credit" && problem.status == 403)
    #expect(problem.detail == "30 of 50" && problem.instance == "/a/1")
    #expect(try problem.member("balance", as: Int.self) == 30)
    #expect(try problem.member("accounts", as: [String].self) == nil)
    #expect(throws: DecodingError.self) { try problem.member("balance", as: String.self) }
  }

  @Test func `a member of a wrong type is ignored, and the rest stands`() {
    let problem = failure(
      #"{"title":"T","status":"404","type":7,"detail":null}"#, "Application/Problem+JSON; charset=utf-8"
    )
    .problem
    #expect(problem?.title == "T" && problem?.status == nil && problem?.type == "about:blank" && problem?.detail == nil)
    #expect(failure("{}").problem?.type == "about:blank")
  }

  @Test(arguments: ["[1]", "{", "", "<problem/>", "{\"title\":\"\(String(repeating: "x", count: 65_536))\"}"])
  func `a body that is no object, or over 64 KiB, is no problem and no error`(body: String) {
    let failure = failure(body)
    #expect(failure.problem == nil && failure.serverMessage == nil && failure.fieldErrors.isEmpty)
  }

  @Test func `JSON of another type is no problem, and has its message`() {
    let failure = failure(#"{"type":"/e","title":"T"}"#, "application/json")
    #expect(failure.problem == nil && failure.serverMessage == "T")
  }

  @Test(
    arguments: [
      (#"{"title":"T","detail":"D"}"#, "D"),
      (#"{"message":"The given data was invalid.","errors":{}}"#, "The given data was invalid."),
      (#"{"timestamp":"2026","status":404,"error":"Not Found","path":"/x"}"#, "Not Found"),
      (#"{"error":"invalid_grant","error_description":"It has expired."}"#, "It has expired."),
      (#"{"error":{"code":7,"message":"No such card."}}"#, "No such card."),
      (#"{"detail":[{"loc":["body","name"],"msg":"Field required"}]}"#, nil),
    ] as [(String, String?)])
  func `the message is found in the shapes of frameworks`(body: String, message: String?) {
    #expect(failure(body, "application/json").serverMessage == message)
  }

  @Test(arguments: [
    (##"{"errors":[{"detail":"too small","pointer":"#/items/0/a~1b%20c"}]}"##, "items.0.a/b c: too small"),
    (
      #"{"errors":{"$.items[0].Title":["short","dull"],"Age":"old"}}"#,
      "items.0.Title: short|items.0.Title: dull|Age: old"
    ),
    (#"{"message":"M","errors":{"tags.0":["unknown"]}}"#, "tags.0: unknown"),
    (
      #"{"detail":[{"loc":["body","items",0,"name"],"msg":"Field required","type":"missing"}]}"#,
      "items.0.name: Field required"
    ),
    (
      #"{"status":400,"errors":[{"field":"tags[1]","defaultMessage":"must not be blank"}]}"#,
      "tags.1: must not be blank"
    ),
    (
      #"{"errors":[{"title":"Invalid","source":{"pointer":"/data/name"}},7,{"detail":"no field"}]}"#,
      "data.name: Invalid"
    ),
  ])
  func `messages about fields are found in the shapes of frameworks`(body: String, expected: String) {
    let found = failure(body, "application/json").fieldErrors.map { "\($0.path): \($0.message)" }
    #expect(Set(found) == Set(expected.components(separatedBy: "|")))
  }

  @Test func `a message about the query or a header field is about no field of the body`() {
    let body = #"{"detail":[{"loc":["query","q"],"msg":"Field required"},{"loc":["header","x"],"msg":"No"}]}"#
    #expect(failure(body, "application/json").fieldErrors.isEmpty)
  }

  @Test func `at most 100 field errors are read`() {
    let errors = (0..<200).map { #"{"field":"f\#($0)","message":"m"}"# }.joined(separator: ",")
    #expect(failure(#"{"errors":[\#(errors)]}"#).fieldErrors.count == 100)
  }

  @Test func `no word of them is in the description`() {
    #expect(!"\(failure(#"{"title":"secret-title","detail":"secret-detail"}"#))".contains("secret"))
  }

  @Test func `other errors have none`() {
    #expect(ReactorError.timedOut.problem == nil && ReactorError.notCached.fieldErrors.isEmpty)
  }
}
