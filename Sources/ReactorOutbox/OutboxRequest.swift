public import Foundation
public import HTTPTypes
public import ReactorCore

/// A request that is saved and sent as it is, for a program without a ``Mutation`` for it: a
/// tool, or a gateway that forwards requests.
///
/// ```swift
/// let request = OutboxRequest(
///   url: url, headerFields: [.contentType: "application/json"], body: body)
/// let submission = try await layer.submit(request)
/// ```
///
/// It drafts nothing. A 412, and a 409 to a request with `If-Match`, refuse it.
public struct OutboxRequest: Sendable, Hashable {
  /// The method. `GET`, `HEAD` and `QUERY` are refused, since they change nothing.
  public var method: HTTPRequest.Method
  /// The absolute URL: `http` or `https`. The base URL of the layer does not apply, and a fragment
  /// is not sent.
  public var url: URL
  /// The header fields. Middlewares of the backend add theirs when the request is sent.
  public var headerFields: HTTPFields
  /// The body, of at most ``bodyLimit`` bytes. A ``form`` takes its place.
  public var body: Data?
  /// The form to upload; `nil` for none.
  ///
  /// It is copied when the request is submitted, with its files, to the outbox's own files, so it
  /// survives the process and the removal of the originals. The copy is removed with the entry.
  /// Its size has no limit but the disk.
  ///
  /// A field whose value is a ``TemporaryID`` is sent with the server's id. As long as an entry is
  /// still to supply that id, a submission fails with `ReactorError.invalidResource`.
  ///
  /// The storages of this package take forms. With another one, a submission fails with
  /// ``OutboxStorageError/takesNoForms``.
  public var form: MultipartForm?
  /// The idempotency key; `nil` makes one if the request needs it. It is sent even if the method is
  /// idempotent or the window is zero.
  public var idempotencyKey: String?

  /// The largest body in bytes: 1 MiB.
  public static let bodyLimit = 1 << 20

  /// Creates a request from its parts.
  ///
  /// ```swift
  /// let request = OutboxRequest(
  ///   method: .put, url: url, headerFields: [.contentType: "application/json"], body: body)
  /// let submission = try await layer.submit(request)
  /// ```
  public init(
    method: HTTPRequest.Method = .post, url: URL, headerFields: HTTPFields = [:], body: Data? = nil,
    idempotencyKey: String? = nil
  ) {
    self.method = method
    self.url = url
    self.headerFields = headerFields
    self.body = body
    self.idempotencyKey = idempotencyKey
  }

  /// Creates an upload of a form.
  ///
  /// ```swift
  /// let upload = OutboxRequest(
  ///   url: url, form: [.file("photo", at: file, contentType: "image/jpeg")])
  /// try await layer.submit(upload)
  /// ```
  public init(
    method: HTTPRequest.Method = .post, url: URL, headerFields: HTTPFields = [:], form: MultipartForm,
    idempotencyKey: String? = nil
  ) {
    self.init(method: method, url: url, headerFields: headerFields, idempotencyKey: idempotencyKey)
    self.form = form
  }
}

extension ModelLayer {
  /// Saves a request, and sends it when its turn comes.
  ///
  /// ```swift
  /// try await layer.submit(OutboxRequest(method: .delete, url: url), lane: "deletions")
  /// ```
  ///
  /// The method returns when the request is saved. Every attempt has the same bytes and the same
  /// idempotency key.
  ///
  /// - Parameters:
  ///   - lane: The lane. Default: ``Lane/main``.
  ///   - idempotencyWindow: The time for which the server remembers the key. Zero: it does not, and
  ///     a `POST` whose outcome is unknown is not sent again. Default: `nil`, which is
  ///     ``OutboxConfiguration/idempotencyWindow``.
  /// - Returns: The submission, whose answer is the body of the accepted response.
  /// - Throws: `ReactorError.persistence` if the request could not be saved; it will not be
  ///   sent. `ReactorError.invalidResource` if it only reads, cannot be sent, is larger than
  ///   an entry may be, or holds a secret: `Authorization`, `Proxy-Authorization`, `Cookie`, a
  ///   secret query item, or a user in the URL. So is an ``OutboxRequest/idempotencyKey`` that
  ///   another entry has with another method, URL or body. Nothing of it is saved.
  ///   `ReactorError.network` with `MultipartForm.FileError` if a file of its form
  ///   cannot be copied. `ReactorError.cancelled` if everything of the scope is removed while its
  ///   form is copied.
  @discardableResult
  public func submit(
    _ request: OutboxRequest, lane: Lane = .main, idempotencyWindow: Duration? = nil
  ) async throws(ReactorError) -> Submission<Data> {
    try await outbox.submit(request, lane: lane, window: idempotencyWindow, in: layer)
  }
}

extension OutboxRequest {
  /// Returns the request in its final bytes.
  ///
  /// - Parameter keyName: The name of the field with the idempotency key.
  /// - Throws: `ReactorError.invalidResource`.
  func frozen(keyName: HTTPField.Name) throws(ReactorError) -> FrozenRequest {
    guard ![.get, .head, .query].contains(method) else {
      throw .invalidResource("an outbox does not send \(method.rawValue), which only reads; fetch the resource")
    }
    let body = form == nil ? body : nil
    guard (body?.count ?? 0) <= Self.bodyLimit else {
      throw .invalidResource(
        "the body has \(body?.count ?? 0) bytes, and an outbox takes at most \(Self.bodyLimit); submit it as a part of a form"
      )
    }
    try Backend.check(headerFields)
    var fields = headerFields
    fields[keyName] = nil
    return FrozenRequest(
      method: method.rawValue, url: try absoluteURL(),
      fields: fields.map { FrozenRequest.Field(name: $0.name.rawName, value: $0.value) }, body: body)
  }

  /// Returns the key of the request: ``idempotencyKey``, else the one in the header fields.
  ///
  /// - Throws: `ReactorError.invalidResource` for a key that a field cannot contain.
  func key(by configuration: OutboxConfiguration) throws(ReactorError) -> String? {
    let keyName = configuration.idempotencyField
    let key: String
    if let idempotencyKey {
      key = try configuration.value(ofKey: idempotencyKey)
    } else if let written = headerFields[keyName] {
      key = written
    } else {
      return nil
    }
    guard !key.isEmpty, HTTPField.isValidValue(key), headerFields[fields: keyName].count < 2 else {
      throw .invalidResource("the idempotency key must be given once, and consist of visible ASCII characters")
    }
    return key
  }

  private func absoluteURL() throws(ReactorError) -> String {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let scheme = parts.scheme?.lowercased(),
      scheme == "http" || scheme == "https", parts.host?.isEmpty == false
    else { throw .invalidResource("the URL of an outbox's request must be an absolute http or https URL with a host") }
    parts.fragment = nil
    guard let text = parts.string else {
      throw .invalidResource("the URL of the request needs percent-encoding (RFC 3986)")
    }
    return text
  }
}
