import Foundation
import ReactorFleet
import Synchronization

/// Records, and the order of commits and fences.
extension FleetStoreConformance {
  static let records = [
    Check("an empty store has no record") { subject in
      let view = try await subject.store.read(subject.record, known: nil)
      subject.expect(view == FleetStoredRecord(), "read returned \(view)")
    },
    Check("a record comes back byte for byte") { subject in
      for body in [Data(), Data(0...255), Data("\r\n$-1\r\n".utf8), Data(repeating: 7, count: 300_000)] {
        let head = Data((0...255).reversed())
        let ticket = try await subject.ticket()
        subject.expect(
          try await subject.store.commit(ticket, .response(head: head, body: body), retention: .seconds(60)), .kept)
        let view = try await subject.store.read(subject.record, known: nil)
        subject.expect(
          view.head == head && view.body == body && view.versions.body == ticket.version,
          "a record of \(body.count) bytes came back as \(view.body?.count ?? -1) bytes")
      }
    },
    Check("the body is left out for a server that has its version") { subject in
      let ticket = try await subject.ticket()
      subject.expect(try await subject.commit(ticket), .kept)
      let known = try await subject.store.read(subject.record, known: ticket.version)
      subject.expect(known.body == nil && known.head == Data("head".utf8), "read(known:) returned \(known)")
      let other = try await subject.store.read(subject.record, known: FleetVersion(rawValue: 1))
      subject.expect(other.body == Data("body".utf8), "read(known:) of another version returned no body")
    },
    Check("records of a URL and of other URLs are apart") { subject in
      let records = [("url", "00"), ("url", "00.01"), ("other", "00")].map {
        FleetRecordID(url: FleetURLID(text: $0.0), name: $0.1)
      }
      for (index, record) in records.enumerated() {
        subject.expect(try await subject.commit(try await subject.ticket(record), "\(index)"), .kept)
      }
      for (index, record) in records.enumerated() { try await subject.expect(holds: "\(index)", record) }
    },
    Check("a 304 replaces the head, and leaves the body and its version") { subject in
      let first = try await subject.ticket()
      subject.expect(try await subject.commit(first), .kept)
      let second = try await subject.ticket()
      subject.expect(try await subject.confirm(second, of: first.version, "newer"), .kept)
      let view = try await subject.store.read(subject.record, known: nil)
      subject.expect(
        view.head == Data("newer".utf8) && view.body == Data("body".utf8), "the confirmed record is \(view)")
      subject.expect(
        view.versions == FleetVersions(body: first.version, confirmation: second.version),
        "its versions are \(view.versions)")
    },
    Check("a 304 to another version than the stored one is not kept") { subject in
      let (first, second) = (try await subject.ticket(), try await subject.ticket(nil, .ticket))
      subject.expect(try await subject.commit(second), .kept)
      let third = try await subject.ticket()
      subject.expect(try await subject.confirm(third, of: first.version), .older)
      try await subject.expect(holds: "body")
    },
    Check("of more than 16 records of a URL the oldest are removed") { subject in
      let records = (10..<30).map { FleetRecordID(url: subject.record.url, name: "\($0)") }
      for record in records {
        subject.expect(try await subject.commit(try await subject.ticket(record), record.name), .kept)
      }
      for record in records.prefix(4) { try await subject.expect(holds: nil, record) }
      for record in records.dropFirst(4) { try await subject.expect(holds: record.name, record) }
    },
    Check("the record without a point in its name, by which the others are found, outlives them") { subject in
      let variants = (10..<30).map { FleetRecordID(url: subject.record.url, name: "\(subject.record.name).\($0)") }
      for record in [subject.record] + variants {
        subject.expect(try await subject.commit(try await subject.ticket(record), record.name), .kept)
      }
      try await subject.expect(holds: subject.record.name)
      for record in variants.prefix(5) { try await subject.expect(holds: nil, record) }
      for record in variants.dropFirst(5) { try await subject.expect(holds: record.name, record) }
    },
    Check("nothing is kept beyond its retention") { subject in
      let ticket = try await subject.store.begin(
        subject.record, .lease, lease: .milliseconds(5), retention: .milliseconds(5))
      guard case .granted(let ticket, _) = ticket else { return subject.expect(false, "begin returned \(ticket)") }
      let end = try await subject.store.commit(
        ticket, .response(head: Data(), body: Data()), retention: .milliseconds(5))
      // The retention may be over already.
      subject.expect(end == .kept || end == .lost, "a commit was \(end)")
      try await subject.wait(for: "the end of the record") {
        try await subject.store.read(subject.record, known: nil) == FleetStoredRecord()
      }
    },
  ]

  static let order = [
    Check("tickets of a URL increase, and never come twice") { subject in
      let other = FleetRecordID(url: subject.record.url, name: "01")
      let tickets = try await withThrowingTaskGroup(of: FleetTicket.self) { group in
        for index in 0..<50 { group.addTask { try await subject.ticket(index % 2 == 0 ? nil : other, .ticket) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      subject.expect(Set(tickets.map(\.version)).count == 50, "two tickets are equal")
      let next = try await subject.ticket(nil, .ticket)
      subject.expect(tickets.allSatisfy { $0.version < next.version }, "a later ticket is not above earlier ones")
    },
    Check("the later request wins, whichever response comes first") { subject in
      let (first, second) = (try await subject.ticket(), try await subject.ticket(nil, .ticket))
      subject.expect(try await subject.commit(second, "second"), .kept)
      subject.expect(try await subject.commit(first, "first"), .older)
      subject.expect(try await subject.commit(second, "again"), .older)
      try await subject.expect(holds: "second")
    },
    Check("a response to a request from before a fence is not kept") { subject in
      let before = try await subject.ticket()
      let fence = try await subject.store.fence(subject.record.url, removes: false, replaying: nil)
      subject.expect(fence > before.version, "the fence is not above an earlier ticket")
      subject.expect(try await subject.commit(before), .fenced)
      let after = try await subject.ticket(nil, .ticket)
      subject.expect(after.version > fence, "a ticket is not above an earlier fence")
      subject.expect(try await subject.commit(after), .kept)
    },
    Check("a fence makes the stored record stale, and a later 304 makes it fresh") { subject in
      let first = try await subject.ticket()
      subject.expect(try await subject.commit(first), .kept)
      let fence = try await subject.store.fence(subject.record.url, removes: false, replaying: nil)
      let stale = try await subject.store.read(subject.record, known: nil)
      subject.expect(stale.versions.fence == fence && stale.versions.isFenced, "its versions are \(stale.versions)")
      subject.expect(stale.body == Data("body".utf8), "the body of a stale record is gone")
      subject.expect(try await subject.confirm(try await subject.ticket(), of: first.version), .kept)
      let fresh = try await subject.store.read(subject.record, known: nil)
      subject.expect(!fresh.versions.isFenced, "a confirmed record is fenced")
    },
    Check("a removal removes every record of the URL, and a request from before is not kept") { subject in
      let other = FleetRecordID(url: subject.record.url, name: "01")
      for record in [subject.record, other] {
        subject.expect(try await subject.commit(try await subject.ticket(record)), .kept)
      }
      let before = try await subject.ticket()
      _ = try await subject.store.fence(subject.record.url, removes: true, replaying: nil)
      try await subject.expect(holds: nil)
      try await subject.expect(holds: nil, other)
      subject.expect(try await subject.commit(before), .lost)
      let after = try await subject.ticket()
      subject.expect(try await subject.commit(before), .lost, "after a new ticket, ")
      subject.expect(try await subject.commit(after, "after"), .kept)
      try await subject.expect(holds: "after")
    },
    Check("a fence that is replayed has its version, and does nothing the second time") { subject in
      let before = try await subject.ticket()
      let fence = FleetVersion(rawValue: before.version.rawValue + 1_000_000_000)
      for _ in 0..<2 {
        let replayed = try await subject.store.fence(subject.record.url, removes: false, replaying: fence)
        subject.expect(replayed == fence, "the replayed fence is \(replayed), and not \(fence)")
      }
      subject.expect(try await subject.commit(before), .fenced)
      let after = try await subject.ticket(nil, .ticket)
      subject.expect(after.version > fence, "a ticket is not above the replayed fence")
    },
    Check("a fence of a URL concerns no other") { subject in
      let ticket = try await subject.ticket()
      _ = try await subject.store.fence(FleetURLID(text: "other"), removes: false, replaying: nil)
      subject.expect(try await subject.commit(ticket), .kept)
    },
    Check("a commit without its hash is lost") { subject in
      let ticket = FleetTicket(record: subject.record, version: FleetVersion(rawValue: 1))
      subject.expect(try await subject.commit(ticket), .lost)
      try await subject.expect(holds: nil)
    },
    Check("of many commits at once the latest ticket stays") { subject in
      var tickets: [FleetTicket] = []
      for _ in 0..<20 { tickets.append(try await subject.ticket(nil, .ticket)) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, ticket) in tickets.enumerated().reversed() {
          group.addTask { _ = try await subject.commit(ticket, "\(index)") }
        }
        try await group.waitForAll()
      }
      try await subject.expect(holds: "19")
    },
  ]
}
