import HTTPCachingProxy
import HTTPTypes

/// An exchange as one line of standard error.
enum ProxyTrace {
  /// Returns the method, the path, the status, the source, the age, the size, the duration, and the
  /// error. The line has no header fields, and digests in place of secret query items.
  static func line(_ request: HTTPRequest, _ answer: ProxyResponse, in duration: Duration) -> String {
    let secret = HTTPCache.defaultSecretQueryItems
    let path = RecordKey(method: .get, url: request.path ?? "", secretQueryItems: secret).url
    let age = answer.response.headerFields[.age].map { ", age \($0)" } ?? ""
    let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    let failure = answer.failure.map { ", failed: \($0)" } ?? ""
    let size =
      answer.changes != nil
      ? "changes" : answer.stream.map { "not stored, \($0.reason.rawValue)" } ?? "\(answer.body.count) bytes"
    return "\(request.method.rawValue) \(path) \(answer.response.status.code) \(answer.source)\(age), \(size), "
      + "\(milliseconds) ms\(failure)"
  }
}
