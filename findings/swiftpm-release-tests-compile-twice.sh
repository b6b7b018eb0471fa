#!/usr/bin/env bash
# swift build --build-tests, and then swift test, both with -c release -Xswiftc -enable-testing: built once, tested without building.
#
# Most would guess: the second has nothing to compile, as it has nothing in a debug build.
# What is so: swift test adds -enable-testing of its own to every module of a release build, which swift build --build-tests does not. The
#   commands differ by the repeated flag, so each compiles every module again after the other. With --disable-testable-imports, swift test
#   has nothing to compile.
# Source: SwiftPM's `swift test` has testable imports on by default, `swift build` has them off in release.
# Bites: a CI that builds the tests in one step and runs them in the next, and everybody who tests what they ship.
set -euo pipefail
expected="6.3.1"
version="$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p' | head -n 1)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/Sources/Library" "$work/Tests/LibraryTests"
cat >"$work/Package.swift" <<'SWIFT'
// swift-tools-version: 6.0
import PackageDescription
let package = Package(
  name: "Twice", targets: [.target(name: "Library"), .testTarget(name: "LibraryTests", dependencies: ["Library"])])
SWIFT
echo 'func answer() -> Int { 42 }' >"$work/Sources/Library/Library.swift"
cat >"$work/Tests/LibraryTests/Tests.swift" <<'SWIFT'
import Testing
@testable import Library
@Test func isRight() { #expect(answer() == 42) }
SWIFT
cd "$work"
flags=(-c release -Xswiftc -enable-testing)
count() { "$@" "${flags[@]}" 2>&1 | grep -cE 'Compiling Library ' || true; }
built="$(count swift build --build-tests)"
tested="$(count swift test)"
again="$(count swift build --build-tests)"
without="$(count swift test --disable-testable-imports)"
echo "swift $version: the library is compiled by build $built, test $tested, build $again, test --disable-testable-imports $without"
[ "$version" = "$expected" ] || { echo "not the version that was seen: $expected"; exit 1; }
[ "$built $tested $again $without" = "1 1 1 0" ]
