import Foundation
import ReactorCore
import ReactorOutbox

/// The saved form, and the name under which it is saved.
extension MutationConformance.Check {
  static var saving: [Self] {
    [
      Self("a mutation is encoded as the same JSON each time") { subject in
        let saved = try subject.probe.saved(subject.mutation)
        for _ in 0..<3 {
          let again = try subject.probe.saved(subject.mutation)
          subject.expect(again == saved, "it was encoded as \(saved.text), and the next time as \(again.text)")
        }
        let restored = try subject.probe.saved(subject.restored())
        subject.expect(restored == saved, "it was encoded as \(saved.text), and after decoding as \(restored.text)")
      },
      Self("a mutation is decoded as it was encoded") { subject in
        for difference in Differences.between(subject.mutation, try subject.restored()) {
          subject.expect(false, difference)
        }
      },
      Self("a mutation can be decoded with server ids in place of temporary ids") { subject in
        let saved = try subject.probe.saved(subject.mutation)
        let given = try ([7, "0E984725-C51C-4BF4-9960-E1C80E27ABA0"] as [JSONValue]).compactMap { id in
          try subject.probe.saved(saved, withIDs: id)
        }
        let isRead = given.isEmpty || given.contains { (try? subject.probe.read($0)) != nil }
        subject.expect(
          isRead,
          "decoding fails for \(given.map(\.text).joined(separator: " and for ")); give members with temporary ids a type for both"
        )
      },
      Self("a mutation has a name, and the same lane each time") { subject in
        subject.expect(!M.name.isEmpty, "the name is empty; return a name that no release changes")
        subject.expect(
          M.name == M.name && M.version == M.version, "two reads of the name or the version differ; return constants")
        let (lane, restored) = (subject.mutation.lane, try subject.restored().lane)
        subject.expect(
          subject.mutation.lane == lane,
          "the lane was \(lane.rawValue), and differs at the next read; derive it from stored properties")
        subject.expect(restored == lane, "the lane is \(lane.rawValue), and after decoding \(restored.rawValue)")
      },
      Self("mutations that earlier releases saved can be decoded") { subject in
        for release in subject.suite.releases {
          subject.expect(
            release.name == M.name,
            "an earlier release saved it as \(release.name), and its name is \(M.name); restore the earlier name")
          do {
            _ = try subject.probe.read(Data(release.json.utf8), version: release.version)
          } catch {
            subject.expect(
              false, "version \(release.version) cannot be decoded; handle it in migrate(_:from:): \(error)")
          }
        }
      },
    ]
  }
}

extension MutationConformance.Check {
  static var drafting: [Self] {
    [
      Self("a draft is of a resource that can be read") { subject in
        _ = try subject.probe.keys(of: subject.probe.drafts(of: subject.mutation))
      },
      Self("each draft has samples, and each sample has drafts") { subject in
        let changes = subject.probe.drafts(of: subject.mutation).changes
        for change in changes {
          let isSampled = subject.suite.samples.contains { $0.isOf(change) }
          subject.expect(
            isSampled, "a draft changes \(change.model) at \(change.resource), and no sample tests it; add one")
        }
        for sample in subject.suite.samples {
          let isDrafted = changes.contains { sample.isOf($0) }
          subject.expect(
            isDrafted,
            "no draft changes the sample of \(sample.model) at \(sample.resource); remove the sample, or draft the change"
          )
        }
      },
      Self("a draft has the same effect each time") { subject in
        let restored = try subject.restored()
        for sample in subject.suite.samples {
          for text in sample.changing(subject.mutation, restored) { subject.expect(false, text) }
        }
      },
      Self("a draft that is applied twice has the same effect as once") { subject in
        for sample in subject.suite.samples {
          for text in sample.repeating(subject.mutation) { subject.expect(false, text) }
        }
      },
      Self("a draft does not change a value that has its effect") { subject in
        for sample in subject.suite.samples {
          for text in sample.unsettling(subject.mutation) { subject.expect(false, text) }
        }
      },
    ]
  }

  static var requesting: [Self] {
    [
      Self("a request can be saved and sent") { subject in
        // A mutation may need a known value, which is missing here.
        guard let request = try? await subject.probe.request(of: subject.mutation) else { return }
        try subject.probe.check(request)
      },
      Self("a mutation makes the same request after decoding") { subject in
        let (mutation, probe) = (subject.mutation, subject.probe)
        guard let request = try? await probe.request(of: mutation), try await probe.request(of: mutation) == request
        else { return }
        let restored = try await probe.request(of: subject.restored())
        subject.expect(
          restored == request,
          "the request was \(request), and after decoding \(restored), or its fields or body differ")
      },
    ]
  }
}

extension Data {
  fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
