#if AsyncHTTPClient
  import CReactorZlib
  import Foundation
  import ReactorCore

  /// Decodes gzip (RFC 1952), zlib (RFC 1950) or, if allowed, raw deflate (RFC 1951), piece by
  /// piece. The first two bytes tell them apart.
  final class Inflater {
    /// The decoded bytes exceed the limit.
    struct Overflow: Error {}

    private enum Phase { case start, inside, ended }

    private let allowsRaw: Bool
    /// zlib compares the address of the stream, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private var phase = Phase.start
    private var isGzip = false
    /// The first byte, while the second is missing.
    private var held = Data()

    init(allowsRaw: Bool) {
      self.allowsRaw = allowsRaw
      stream = .allocate(capacity: 1)
      stream.initialize(to: z_stream())
    }

    deinit {
      // Does nothing to a stream that was never set up.
      inflateEnd(stream)
      stream.deinitialize(count: 1)
      stream.deallocate()
    }

    /// A Boolean value that indicates whether the bytes so far end within the coded data.
    var isIncomplete: Bool { phase == .inside || !held.isEmpty }

    /// Returns the bytes that `piece` decodes to.
    ///
    /// - Parameter limit: The largest number of bytes to return.
    /// - Throws: `TransportError/invalidResponse(_:request:)` for bytes that are not in the coding;
    ///   ``Overflow`` beyond the limit.
    func inflate(_ piece: Data, limit: Int) throws -> Data {
      var input = piece
      if phase == .start {
        input = held + input
        guard input.count >= 2 else {
          held = input
          return Data()
        }
        held = Data()
        try begin(with: input.prefix(2).reduce(0) { $0 << 8 | Int($1) })
      }
      // The size of a piece fits zlib's 32-bit counter, whatever the size of the body.
      var output = Data()
      while !input.isEmpty {
        try inflate(input.prefix(Self.largestPiece), to: &output, limit: limit)
        input = input.dropFirst(Self.largestPiece)
      }
      return output
    }

    private func begin(with start: Int) throws(TransportError) {
      isGzip = start == 0x1F8B
      let isZlib = start >> 8 & 0xF == 8 && start.isMultiple(of: 31)
      guard isGzip || isZlib || allowsRaw else { throw Self.invalid }
      // 15 bits are the largest window. 16 more stand for gzip, a negative number for raw deflate.
      let bits: Int32 = isGzip ? 31 : isZlib ? 15 : -15
      guard inflateInit2_(stream, bits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
        throw .invalidResponse("zlib \(String(cString: zlibVersion())) cannot decode it")
      }
      phase = .inside
    }

    private func inflate(_ input: Data, to output: inout Data, limit: Int) throws {
      try input.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
        stream.pointee.next_in = bytes.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_in = UInt32(bytes.count)
        defer {
          stream.pointee.next_in = nil
          stream.pointee.avail_in = 0
        }
        repeat {
          if phase == .ended { try beginMember() }
          try inflateBlock(to: &output, limit: limit)
        } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0 && phase == .inside
      }
    }

    /// A body of gzip is a series of members (RFC 1952 §2.2). Nothing may follow the other formats.
    private func beginMember() throws(TransportError) {
      guard isGzip, inflateReset(stream) == Z_OK else { throw Self.invalid }
      phase = .inside
    }

    private func inflateBlock(to output: inout Data, limit: Int) throws {
      try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.blockSize) { block in
        stream.pointee.next_out = block.baseAddress
        stream.pointee.avail_out = UInt32(block.count)
        defer { stream.pointee.next_out = nil }
        let status = CReactorZlib.inflate(stream, Z_NO_FLUSH)
        // With `Z_BUF_ERROR`, zlib asks for more input.
        guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(status) else { throw Self.invalid }
        if status == Z_STREAM_END { phase = .ended }
        let count = block.count - Int(stream.pointee.avail_out)
        guard count <= limit - output.count else { throw Overflow() }
        output.append(contentsOf: block.prefix(count))
      }
    }

    private static var invalid: TransportError {
      .invalidResponse("its body is not in the coding that its header names")
    }
    private static let blockSize = 64 << 10
    private static let largestPiece = 1 << 30
  }
#endif
