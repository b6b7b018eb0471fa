#if AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorTesting
  import Testing

  /// A response that real servers send, and what each transport makes of it. *Transports* of
  /// ReactorCore has the same rows.
  struct OddResponse: Sendable, CustomTestStringConvertible {
    enum Reaction: Sendable, Hashable {
      /// The response is read as its standard says.
      case read
      case error
      /// An error that is retried.
      case retried
      /// Another reading, one of those listed, with the words of the page.
      case other([String], String)

      var words: String {
        switch self {
        case .read: "read"
        case .error: "an error"
        case .retried: "an error that is retried"
        case .other(_, let words): words
        }
      }
    }

    let name: String
    var method = HTTPRequest.Method.get
    let bytes: Data
    /// The body, and the values of the field `X` if there are any.
    var reading = "hello"
    let urlSession: Reaction
    let asyncHTTPClient: Reaction

    var testDescription: String { name }

    init(
      _ name: String, method: HTTPRequest.Method = .get, _ text: String, _ body: Data = Data("hello".utf8),
      reading: String = "hello", urlSession: Reaction = .read, asyncHTTPClient: Reaction = .read
    ) {
      self.name = name
      self.method = method
      bytes = Data(text.utf8) + body
      self.reading = reading
      self.urlSession = urlSession
      self.asyncHTTPClient = asyncHTTPClient
    }
  }

  extension OddResponse {
    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let five = "Content-Length: 5\r\n\r\n"

    private static func coded(_ coding: String, _ base64: String) -> String {
      "\(ok)Content-Encoding: \(coding)\r\nContent-Length: \(Coded.bytes(base64).count)\r\n\r\n"
    }

    static let all: [OddResponse] = lengths + codings + fields + heads

    private static let lengths = [
      OddResponse("the same `Content-Length` twice", "\(ok)Content-Length: 5\r\n\(five)", asyncHTTPClient: .error),
      OddResponse(
        "two different lengths", "\(ok)Content-Length: 3\r\n\(five)", urlSession: .retried, asyncHTTPClient: .error),
      OddResponse(
        "fewer bytes than `Content-Length`", "\(ok)Content-Length: 9\r\n\r\n", urlSession: .retried,
        asyncHTTPClient: .retried),
      OddResponse(
        "no last chunk", "\(ok)Transfer-Encoding: chunked\r\n\r\n5\r\n", Data("hello\r\n".utf8), urlSession: .retried,
        asyncHTTPClient: .retried),
      OddResponse("HTTP/1.0, without a length", "HTTP/1.0 200 OK\r\n\r\n"),
    ]

    private static let codings = [
      OddResponse("`x-gzip`", coded("x-gzip", Coded.gzip), Coded.bytes(Coded.gzip)),
      OddResponse("`deflate` without zlib's header", coded("deflate", Coded.raw), Coded.bytes(Coded.raw)),
      OddResponse(
        "`gzip` in two members", coded("gzip", Coded.members), Coded.bytes(Coded.members), urlSession: .error),
      OddResponse(
        "`br`", coded("br", Coded.brotli), Coded.bytes(Coded.brotli), asyncHTTPClient: .other(["coded"], "as it is")),
      OddResponse(
        "`gzip` of fewer bytes than it should be, with the right length",
        "\(ok)Content-Encoding: gzip\r\nContent-Length: 17\r\n\r\n", Coded.bytes(Coded.gzip).prefix(17),
        urlSession: .other(["hello"], "the part"), asyncHTTPClient: .error),
      OddResponse(
        "`gzip` of bytes that are not", "\(ok)Content-Encoding: gzip\r\n\(five)", urlSession: .error,
        asyncHTTPClient: .error),
      OddResponse(
        "an invalid coding, such as `utf-8`", "\(ok)Content-Encoding: utf-8\r\n\(five)", urlSession: .error),
      OddResponse(
        "`Transfer-Encoding: gzip, chunked`", "\(ok)Transfer-Encoding: gzip, chunked\r\n\r\n19\r\n",
        Coded.bytes(Coded.gzip) + Data("\r\n0\r\n\r\n".utf8)),
      OddResponse(
        "a 304 with `Content-Encoding: gzip`", "HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\n\r\n", Data(),
        reading: ""),
      OddResponse(
        "a `HEAD` with `Content-Encoding: gzip`", method: .head,
        "\(ok)Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n", Data(), reading: ""),
    ]

    private static let fields = [
      OddResponse(
        "a field twice", "\(ok)X: a\r\nX: b\r\n\(five)", reading: "hello; a / b",
        urlSession: .other(["hello; a, b"], "joined by a comma")),
      OddResponse(
        "a field twice, in two spellings", "\(ok)X: a\r\nx: b\r\n\(five)", reading: "hello; a / b",
        urlSession: .other(["hello; a", "hello; b"], "one of the two")),
      OddResponse("a field in UTF-8", "\(ok)X: é\r\n\(five)", reading: "hello; é"),
      OddResponse(
        "a field in ISO-8859-1", "\(ok)X: ", [0xE9] + Data("\r\n\(five)hello".utf8), reading: "hello; é",
        urlSession: .error, asyncHTTPClient: .other(["hello; \u{FFFD}"], "with U+FFFD")),
      OddResponse(
        "a field in two lines (obs-fold)", "\(ok)X: a\r\n b\r\n\(five)", reading: "hello; a b", asyncHTTPClient: .error),
      OddResponse(
        "a field without a space after its colon", "\(ok)X:a\r\n\(five)", reading: "hello; a", urlSession: .error),
      OddResponse(
        "a field with a space before its colon", "\(ok)X : a\r\n\(five)", urlSession: .error, asyncHTTPClient: .error),
      OddResponse("200 fields of 1 KB", "\(ok)\(many(200, size: 1_000))\(five)"),
      OddResponse("300 fields", "\(ok)\(many(300, size: 1))\(five)", asyncHTTPClient: .error),
      OddResponse("a field of 90 KB", "\(ok)\(many(1, size: 90_000))\(five)", asyncHTTPClient: .error),
      OddResponse(
        "a field of 110 KB", "\(ok)\(many(1, size: 110_000))\(five)", urlSession: .error, asyncHTTPClient: .error),
    ]

    private static let heads = [
      OddResponse("the status 999", "HTTP/1.1 999 What\r\n\(five)"),
      OddResponse("no reason: `HTTP/1.1 200 `", "HTTP/1.1 200 \r\n\(five)"),
      OddResponse("nor the space before it: `HTTP/1.1 200`", "HTTP/1.1 200\r\n\(five)", urlSession: .error),
      OddResponse(
        "a redirect without a target", "HTTP/1.1 302 Found\r\n\(five)", urlSession: .other([""], "without its body")),
      OddResponse("a 204 with a body", "HTTP/1.1 204 No Content\r\n\(five)", reading: ""),
    ]

    private static func many(_ count: Int, size: Int) -> String {
      (0..<count).map { "A\($0): \(String(repeating: "a", count: size))\r\n" }.joined()
    }
  }
#endif
