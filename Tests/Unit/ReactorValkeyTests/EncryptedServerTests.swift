#if Valkey
  import Foundation
  import ReactorFleet
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorValkey

  @Suite(
    "A server over TLS", .timeLimit(.minutes(5)), .enabled(if: RedisServer.isInstalled, RedisServer.isMissing),
    .enabled(if: UntrustedServer.isAvailable))
  struct EncryptedServerTests {
    /// Runs `body` with a server on TLS, and the files of its certificate and key.
    private func withServer(
      asksForCertificates: Bool = false,
      _ body: (RedisServer, _ certificate: String, _ key: String) async throws -> Void
    ) async throws {
      try await withTemporaryDirectory { directory in
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let (certificate, key) = (directory.appending(path: "certificate.pem"), directory.appending(path: "key.pem"))
        try await UntrustedServer.makeCertificate(certificate, key: key)
        let options = [
          "--tls-cert-file", certificate.path(), "--tls-key-file", key.path(), "--tls-ca-cert-file", certificate.path(),
          "--tls-auth-clients", asksForCertificates ? "yes" : "no",
        ]
        let server = try await RedisServer.start(options, isEncrypted: true)
        try await body(server, certificate.path(), key.path())
        await server.stop()
      }
    }

    /// Returns the error of the first command; `nil` if it is answered.
    private func error(of address: ValkeyAddress) async -> FleetError? {
      let connection = ValkeyConnection(address)
      defer { Task { await connection.close() } }
      do throws(FleetError) {
        _ = try await connection.send([Data("PING".utf8)])
        return nil
      } catch { return error }
    }

    @Test func `an untrusted certificate is refused in words, and the user's own is accepted`() async throws {
      try await withServer { server, certificate, _ in
        guard case .misconfigured(let reason)? = await error(of: server.address) else {
          return #expect(Bool(false), "it is trusted")
        }
        #expect(reason.hasPrefix("TLS: the certificate of the server") && !reason.contains("BoringSSL"), "\(reason)")
        for host in ["127.0.0.1", "localhost"] {
          var address = server.address
          (address.host, address.trustRoots) = (host, certificate)
          #expect(await error(of: address) == nil)
        }
      }
    }

    @Test func `a server that requests a certificate says so, and takes one`() async throws {
      try await withServer(asksForCertificates: true) { server, certificate, key in
        var address = server.address
        address.trustRoots = certificate
        guard case .misconfigured(let reason)? = await error(of: address) else {
          return #expect(Bool(false), "it asks for none")
        }
        #expect(reason.contains("asks for a certificate"), "\(reason)")
        (address.certificate, address.privateKey) = (certificate, key)
        #expect(await error(of: address) == nil)
      }
    }

    @Test func `a port of the other kind is named`() async throws {
      try await withServer { server, _, _ in
        let plain = await error(of: ValkeyAddress(host: "127.0.0.1", port: server.address.port))
        #expect(plain?.reason.contains("rediss://") == true, "\(String(describing: plain))")
      }
      let server = try await RedisServer.start()
      var address = server.address
      address.isEncrypted = true
      let encrypted = await error(of: address)
      #expect(encrypted?.reason.contains("redis://") == true, "\(String(describing: encrypted))")
      await server.stop()
    }

    @Test func `a file that cannot be used is named`() async {
      var address = ValkeyAddress(host: "127.0.0.1", port: 1, isEncrypted: true)
      address.trustRoots = "/nowhere/authority.pem"
      #expect(await error(of: address)?.reason.contains("/nowhere/authority.pem") == true)
      (address.trustRoots, address.certificate) = (nil, "/nowhere/certificate.pem")
      #expect(await error(of: address)?.reason.contains("/nowhere/certificate.pem") == true)
    }
  }
#endif
