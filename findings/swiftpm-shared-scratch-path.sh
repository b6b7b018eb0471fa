#!/usr/bin/env bash
# Two packages that share a --scratch-path, to compile what both depend on once.
#
# Most would guess: `swift test --package-path B` builds and tests B, whatever else the directory was used for.
# What is so: after two runs of A's tests, it neither builds nor tests B: it runs the tests of A once more, and ends with 0. After a
#   single run of A, it does what one expects. --disable-build-manifest-caching is sure; --skip-build is no better than without.
# Source: SwiftPM's BuildOperation asks the manifest in the directory, which is A's, whether A has changed. If not, it takes the
#   description of the build that was kept, and compares its traits alone.
# Bites: a repository with examples or tools as packages of their own, whose CI shares a directory: it is green, and has tested one of them.
set -euo pipefail
expected="6.3.1"
version="$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p' | head -n 1)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for name in Alpha Beta; do
  mkdir -p "$work/$name/Tests/${name}Tests"
  cat >"$work/$name/Package.swift" <<SWIFT
// swift-tools-version: 6.0
import PackageDescription
let package = Package(name: "$name", targets: [.testTarget(name: "${name}Tests")])
SWIFT
  cat >"$work/$name/Tests/${name}Tests/Tests.swift" <<SWIFT
import Testing
@Test func test$name() {}
SWIFT
done
run() { swift test --package-path "$work/$1" --scratch-path "$work/build" "${@:2}" 2>&1 | grep -oE 'Test test(Alpha|Beta)\(\) passed' | sort -u || true; }
run Alpha >"$work/first"
run Alpha >"$work/second"
run Beta >"$work/beta"
run Beta --disable-build-manifest-caching >"$work/planned"
echo "swift $version"
for step in first second beta planned; do echo "$step: $(cat "$work/$step")"; done
[ "$version" = "$expected" ] || { echo "not the version that was seen: $expected"; exit 1; }
[ "$(cat "$work/beta")" = "Test testAlpha() passed" ] && [ "$(cat "$work/planned")" = "Test testBeta() passed" ]
