#!/usr/bin/env bash
# URLSession of swift-corelibs-foundation: a POST with a small body, on a kept-alive connection that the server closes after it has read the
# head: a handler that acts on the head and ends, a server that is being restarted.
#
# Most would guess: a POST is not idempotent (RFC 9110 §9.2.2), so the client does not send it again by itself, and the task fails.
# What is so: it arrives twice, on the kept connection and on a new one, and the program sees one failure. A POST on its first connection
#   arrives once.
# Source: libcurl repeats a request on a fresh connection if a reused one broke before any byte of an answer, whatever the method
#   (lib/transfer.c, "Connection died, retrying a fresh connect"). Foundation gives it the body after the head, so that the head alone has
#   gone by then, and has no setting against it.
# Bites: whoever places an order from a server written in Swift. A connection of its own for each POST is the only cure with URLSession.
set -euo pipefail
expected="6.3.1"
version="$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p' | head -n 1)"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
cat >"$work/server.py" <<'PYTHON'
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
counts = {}
def serve(connection):
    while True:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            if not byte: return connection.close()
            head += byte
        method, path = head.split(b" ")[:2]
        if method == b"GET":
            body = str(counts.get(path.decode().removeprefix("/count"), 0)).encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        else:
            counts[path.decode()] = counts.get(path.decode(), 0) + 1
            return connection.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PYTHON
cat >"$work/main.swift" <<'SWIFT'
import Dispatch
import Foundation
import FoundationNetworking

let port = CommandLine.arguments[1]

func send(_ session: URLSession, _ method: String, _ path: String) -> String {
  var request = URLRequest(url: URL(string: "http://127.0.0.1:\(port)\(path)")!)
  request.httpMethod = method
  if method == "POST" { request.httpBody = Data("an order".utf8) }
  let done = DispatchSemaphore(value: 0)
  nonisolated(unsafe) var outcome = ""
  session.dataTask(with: request) { data, _, error in
    outcome = error == nil ? String(decoding: data ?? Data(), as: UTF8.self) : "failed"
    done.signal()
  }.resume()
  done.wait()
  return outcome
}

let kept = URLSession(configuration: .ephemeral)
_ = send(kept, "GET", "/warm")
let first = send(kept, "POST", "/kept")
let second = send(URLSession(configuration: .ephemeral), "POST", "/own")
let reader = URLSession(configuration: .ephemeral)
print("kept connection: \(first), arrived \(send(reader, "GET", "/count/kept")); own connection: \(second), arrived \(send(reader, "GET", "/count/own"))")
SWIFT
swiftc -o "$work/client" "$work/main.swift"
python3 "$work/server.py" >"$work/port" &
server=$!
for _ in $(seq 50); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 "$work/client" "$(cat "$work/port")")"
echo "swift $version: $seen"
[ "$version" = "$expected" ] || { echo "not the version that was seen: $expected"; exit 1; }
[ "$seen" = "kept connection: failed, arrived 2; own connection: failed, arrived 1" ]
