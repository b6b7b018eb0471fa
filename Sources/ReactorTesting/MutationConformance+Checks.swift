import Foundation
import ReactorCore
import ReactorOutbox

/// The saved form, and the name under which it is saved.
extension MutationConformance.Check {
  static var saving: [Self] {
    [
      Self("a mutation is the same JSON each time") { subject in
        let saved = try subject.probe.saved(subject.mutation)
        for _ in 0..<3 {
          let again = try subject.probe.saved(subject.mutation)
          subject.expect(again == saved, "\(saved.text) is \(again.text) the next time")
        }
        let restored = try subject.probe.saved(subject.restored())
        subject.expect(restored == saved, "\(saved.text) is \(restored.text) after it was read")
      },
      Self("a mutation is read as it was saved") { subject in
        for difference in Differences.between(subject.mutation, try subject.restored()) {
          subject.expect(false, difference)
        }
      },
      Self("a mutation can be read with the ids that the server gives") { subject in
        let saved = try subject.probe.saved(subject.mutation)
        let given = try ([7, "0E984725-C51C-4BF4-9960-E1C80E27ABA0"] as [JSONValue]).compactMap { id in
          try subject.probe.saved(saved, withIDs: id)
        }
        let isRead = given.isEmpty || given.contains { (try? subject.probe.read($0)) != nil }
        subject.expect(isRead, "neither \(given.map(\.text).joined(separator: " nor ")) can be read")
      },
      Self("a mutation has a name, and the same lane each time") { subject in
        subject.expect(!M.name.isEmpty, "the name is empty")
        subject.expect(M.name == M.name && M.version == M.version, "the name or the version changes")
        let (lane, restored) = (subject.mutation.lane, try subject.restored().lane)
        subject.expect(subject.mutation.lane == lane, "the lane \(lane.rawValue) changes")
        subject.expect(restored == lane, "the lane \(lane.rawValue) is \(restored.rawValue) after it was read")
      },
      Self("what an earlier release has saved can be read") { subject in
        for release in subject.suite.releases {
          subject.expect(release.name == M.name, "\(release.name) is named \(M.name) now")
          do {
            _ = try subject.probe.read(Data(release.json.utf8), version: release.version)
          } catch {
            subject.expect(false, "version \(release.version): \(error)")
          }
        }
      },
    ]
  }
}

extension MutationConformance.Check {
  static var drafting: [Self] {
    [
      Self("a draft lies over a resource that is read") { subject in
        _ = try subject.probe.keys(of: subject.probe.drafts(of: subject.mutation))
      },
      Self("each draft has samples, and each sample has drafts") { subject in
        let changes = subject.probe.drafts(of: subject.mutation).changes
        for change in changes {
          let isSampled = subject.suite.samples.contains { $0.isOf(change) }
          subject.expect(isSampled, "there is no sample of \(change.model) at \(change.resource)")
        }
        for sample in subject.suite.samples {
          let isDrafted = changes.contains { sample.isOf($0) }
          subject.expect(isDrafted, "nothing is drafted over \(sample.model) at \(sample.resource)")
        }
      },
      Self("a draft has the same effect each time") { subject in
        let restored = try subject.restored()
        for sample in subject.suite.samples {
          for text in sample.changing(subject.mutation, restored) { subject.expect(false, text) }
        }
      },
      Self("a draft that is applied twice has the effect of one") { subject in
        for sample in subject.suite.samples {
          for text in sample.repeating(subject.mutation) { subject.expect(false, text) }
        }
      },
      Self("a draft changes nothing where its effect is there") { subject in
        for sample in subject.suite.samples {
          for text in sample.unsettling(subject.mutation) { subject.expect(false, text) }
        }
      },
    ]
  }

  static var requesting: [Self] {
    [
      Self("a request can be saved and sent") { subject in
        // A mutation may need a known value, and there is none.
        guard let request = try? await subject.probe.request(of: subject.mutation) else { return }
        try subject.probe.check(request)
      },
      Self("a mutation makes the same request after it was read") { subject in
        let (mutation, probe) = (subject.mutation, subject.probe)
        guard let request = try? await probe.request(of: mutation), try await probe.request(of: mutation) == request
        else { return }
        let restored = try await probe.request(of: subject.restored())
        subject.expect(restored == request, "\(request) is \(restored), or has other fields or another body")
      },
    ]
  }
}

extension Data {
  fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
