import HTTPCaching
import HTTPTypes

/// An exchange as one line of standard error.
enum ProxyTrace {
  /// Method, path, status, where the answer is from, its age, its size, the time it took, and what went wrong. Fields are not told;
  /// of secret query items only digests are.
  static func line(_ request: HTTPRequest, _ answer: ProxyResponse, in duration: Duration) -> String {
    let secret = HTTPCache.defaultSecretQueryItems
    let path = RecordKey(method: .get, url: request.path ?? "", secretQueryItems: secret).url
    let age = answer.response.headerFields[.age].map { ", age \($0)" } ?? ""
    let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    let failure = answer.failure.map { ", failed: \($0)" } ?? ""
    return TraceLine.oneLine(
      "\(request.method.rawValue) \(path) \(answer.response.status.code) \(answer.source)\(age), "
        + "\(answer.body.count) bytes, \(milliseconds) ms\(failure)")
  }
}
