public import Foundation

/// The body of an upload: fields, data and files, sent as `multipart/form-data` (RFC 7578).
///
/// ```swift
/// let form: MultipartForm = [
///   .field("title", "Sunset"), .file("photo", at: file, contentType: "image/jpeg"),
/// ]
/// try await layer.send(Resource("photos", form: form)) { progress in
///   print(progress.fractionCompleted)
/// }
/// ```
///
/// A form does no I/O. A request with files copies them, piece by piece, into a temporary file
/// without a name, which is gone when the request or the process ends. Each attempt sends the same
/// bytes from it, with their total length. So the files may change or disappear once the upload has
/// begun.
public struct MultipartForm: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// The parts, in the order in which they are sent. Several may have one name.
  public var parts: [Part]

  /// Creates a form from its parts.
  public init(_ parts: [Part] = []) { self.parts = parts }

  /// Creates a form from its parts.
  public init(arrayLiteral parts: Part...) { self.parts = parts }
}

extension MultipartForm {
  /// A part of a form.
  ///
  /// ```swift
  /// let form = MultipartForm([
  ///   .field("title", "Moon"), .file("photo", at: file, contentType: "image/jpeg"),
  /// ])
  /// ```
  ///
  /// Names and file names are sent in UTF-8. Quotation marks and control characters in them are
  /// percent-encoded, as browsers do.
  public struct Part: Sendable, Hashable {
    enum Content: Hashable, Sendable {
      case data(Data)
      case file(URL)
    }

    /// The code that copies a value of this size weighs more than a reference.
    private final class Fields: Sendable {
      let name: String
      let fileName: String?
      let contentType: String?
      let content: Content

      init(_ name: String, _ fileName: String?, _ contentType: String?, _ content: Content) {
        (self.name, self.fileName, self.contentType, self.content) = (name, fileName, contentType, content)
      }
    }

    private let fields: Fields

    private init(name: String, fileName: String?, contentType: String?, content: Content) {
      fields = Fields(name, fileName, contentType, content)
    }

    var name: String { fields.name }
    var fileName: String? { fields.fileName }
    var contentType: String? { fields.contentType }
    var content: Content { fields.content }

    /// The value of a field; `nil` for another part, or for bytes that are no UTF-8.
    package var fieldValue: String? {
      get {
        guard case .data(let data) = content, fileName == nil, contentType == nil else { return nil }
        return String(data: data, encoding: .utf8)
      }
      set {
        if let newValue { self = .field(name, newValue) }
      }
    }

    public static func == (a: Part, b: Part) -> Bool {
      a.fields === b.fields
        || a.name == b.name && a.fileName == b.fileName && a.contentType == b.contentType && a.content == b.content
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// A value, sent as UTF-8 text.
    ///
    /// ```swift
    /// let title: MultipartForm.Part = .field("title", "Sunset")
    /// ```
    public static func field(_ name: String, _ value: String) -> Part {
      Part(name: name, fileName: nil, contentType: nil, content: .data(Data(value.utf8)))
    }

    /// A file whose bytes are in memory.
    ///
    /// ```swift
    /// let form: MultipartForm = [
    ///   .data("photo", jpeg, fileName: "moon.jpg", contentType: "image/jpeg")
    /// ]
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name of the part.
    ///   - data: The bytes.
    ///   - fileName: The name that the server gets for the file. With `nil`, the part is no file to
    ///     most servers, as for JSON. Default: `nil`.
    ///   - contentType: The media type. Default: `application/octet-stream` (RFC 7578 §4.4).
    public static func data(
      _ name: String, _ data: Data, fileName: String? = nil, contentType: String = "application/octet-stream"
    ) -> Part {
      Part(name: name, fileName: fileName, contentType: contentType, content: .data(data))
    }

    /// A file on disk, which is read when the request is sent.
    ///
    /// - Parameters:
    ///   - name: The name of the part.
    ///   - file: The URL of a regular file.
    ///   - fileName: The name that the server gets for the file. Default: `nil`, which is that of
    ///     `file`.
    ///   - contentType: The media type. Default: `application/octet-stream` (RFC 7578 §4.4).
    public static func file(
      _ name: String, at file: URL, fileName: String? = nil, contentType: String = "application/octet-stream"
    ) -> Part {
      Part(
        name: name, fileName: fileName ?? file.lastPathComponent, contentType: contentType, content: .file(file))
    }
  }

  /// The error of a part's file, which arrives as ``ReactorError/network(_:)``. Nothing was sent.
  ///
  /// ```swift
  /// do {
  ///   try await layer.send(upload)
  /// } catch .network(let error as MultipartForm.FileError) where error.reason == .missing {
  ///   chooseAgain(error.file)
  /// }
  /// ```
  public struct FileError: Error, Hashable {
    /// The reason why the file cannot be sent.
    @nonexhaustive public enum Reason: Hashable, Sendable {
      /// There is no such file.
      case missing
      /// The file cannot be read, for a reason in words.
      case unreadable(String)
      /// The file became longer or shorter while it was copied.
      case changed
      /// The copy of the form cannot be written, for a reason in words.
      case notCopied(String)
    }

    /// The name of the part; `nil` for the copy of the form.
    public let part: String?
    /// The file of the part, or the copy.
    public let file: URL
    /// The reason.
    public let reason: Reason
  }
}

extension MultipartForm.Part: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name of the part, without its content.
  public var description: String { "part \(name)" }
  /// The description, which holds no content.
  public var debugDescription: String { description }
  /// The description alone, so that `dump` shows no content.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension MultipartForm.FileError: CustomStringConvertible {
  /// A sentence with the file's name, the part and the remedy.
  public var description: String {
    let name = file.lastPathComponent
    let file = "the file \(name)" + (part.map { " of the part \($0)" } ?? "")
    return switch reason {
    case .missing: "\(file) does not exist, so nothing was sent; choose a file again"
    case .unreadable(let reason):
      "\(file) cannot be read, so nothing was sent: \(reason); check that it is a file that this program may read"
    case .changed: "\(file) changed while it was copied, so nothing was sent; try again once it is complete"
    case .notCopied(let reason):
      "the form cannot be copied to \(name), so nothing was sent: \(reason); free some space"
    }
  }
}
