import HTTPTypes
import Testing

@testable import ReactorCore

@Suite struct `The generations of a layer` {
  private let generations = Generations()
  private let key = RecordKey(method: .get, url: "https://api.example.com/notes")
  private let other = RecordKey(method: .get, url: "https://api.example.com/others")

  @Test func `generations are numbered in the order of beginning, over all keys`() {
    let tickets = [
      generations.beginFetch(key), generations.beginFetch(other), generations.beginWrite(key),
      generations.beginFetch(key),
    ]
    #expect(tickets.map(\.number) == tickets.map(\.number).sorted())
    #expect(Set(tickets.map(\.number)).count == 4)
  }

  @Test func `an answer is dropped once a later flight's is committed`() {
    let early = generations.beginFetch(key)
    let late = generations.beginFetch(key)
    #expect(late.commit())
    #expect(!early.commit())
  }

  @Test func `an answer that nothing has overtaken is committed, and the later one after it`() {
    let early = generations.beginFetch(key)
    let late = generations.beginFetch(key)
    #expect(early.commit())
    #expect(late.commit())
    #expect(!early.commit())
  }

  @Test func `the generations of a layer count an answer from its request, not from the flight's beginning`() {
    let early = generations.beginFetch(key)
    let late = generations.beginFetch(key)
    early.send()
    #expect(early.number > late.number)
    #expect(early.commit())
    #expect(!late.commit())
  }

  @Test func `the later requests of a fenced flight are fenced too`() {
    let flight = generations.beginFetch(key)
    let fence = generations.beginWrite(key)
    flight.send()
    #expect(flight.number < fence.number)
    #expect(flight.sentNumber > fence.number)
    #expect(!flight.commit())
  }

  @Test func `a ticket may be committed twice`() {
    let ticket = generations.beginFetch(key)
    #expect(ticket.commit())
    #expect(ticket.commit())
  }

  @Test func `a fence stops earlier work, and no later work`() {
    let early = generations.beginFetch(key)
    let fence = generations.beginWrite(key)
    let late = generations.beginFetch(key)
    #expect(!early.commit())
    #expect(fence.commit())
    #expect(late.commit())
  }

  @Test func `a fence stays until everything earlier has ended`() {
    let early = generations.beginFetch(key)
    _ = generations.beginWrite(key)
    #expect(!early.commit())
  }

  @Test func `a write is carried out although a later one has begun, and dropped once that is on disk`() {
    let first = generations.beginWrite(key)
    let second = generations.beginWrite(key)
    #expect(first.commit())
    #expect(second.commit())
    #expect(first.commit())
    second.didPersist()
    #expect(!first.commit())
    #expect(second.commit())
  }

  @Test func `a write is dropped once a later answer is on disk`() {
    let write = generations.beginWrite(key)
    let answer = generations.beginFetch(key)
    #expect(answer.commit())
    #expect(write.commit())
    answer.didPersist()
    #expect(!write.commit())
  }

  @Test func `the generations of a layer let an invalidation stop answers, and neither a write nor a removal`() {
    let answer = generations.beginFetch(key)
    let change = generations.beginWrite(key)
    let invalidation = generations.beginInvalidation(key)
    #expect(!answer.commit())
    #expect(change.commit())
    #expect(invalidation.commit())
  }

  @Test func `an earlier change that is carried out later leaves an invalidation's fence`() {
    let change = generations.beginWrite(key)
    let answer = generations.beginFetch(key)
    let invalidation = generations.beginInvalidation(key)
    #expect(change.commit())
    #expect(!answer.commit())
    #expect(invalidation.commit())
  }

  @Test func `generations of a key leave other keys unchanged`() {
    let elsewhere = generations.beginFetch(other)
    let fence = generations.beginWrite(key)
    #expect(fence.commit())
    #expect(elsewhere.commit())
  }

  @Test func `fence every key at once, those without anything begun too`() {
    let early = [generations.beginFetch(key), generations.beginFetch(other)]
    _ = generations.fenceAll()
    #expect(early.allSatisfy { !$0.commit() })
    #expect(generations.beginFetch(key).commit())
    #expect(generations.beginFetch(other).commit())
  }

  @Test func `a write is carried out before everything is removed, and dropped after it`() {
    let write = generations.beginWrite(key)
    let number = generations.fenceAll()
    #expect(write.commit())
    generations.didPersistAll(number)
    #expect(!write.commit())
    #expect(generations.beginWrite(key).commit())
  }

  @Test func `forget a key when nothing is under way for it`() {
    var tickets = [generations.beginFetch(key), generations.beginWrite(key), generations.beginFetch(other)]
    #expect(generations.activeKeys == 2)
    tickets.removeFirst()
    #expect(generations.activeKeys == 2)
    tickets.removeFirst()
    #expect(generations.activeKeys == 1)
    tickets.removeFirst()
    #expect(generations.activeKeys == 0)
  }

  @Test func `a key counts as being removed until its last removal ends`() {
    let removals = [generations.beginRemoval(of: key), generations.beginRemoval(of: key)]
    #expect(generations.isBeingRemoved(key))
    #expect(!generations.isBeingRemoved(other))
    removals[0].end()
    removals[0].end()
    #expect(generations.isBeingRemoved(key))
    removals[1].end()
    #expect(!generations.isBeingRemoved(key))
  }

  @Test func `every key counts as being removed while everything is`() {
    let removals = [nil, key, nil].map { generations.beginRemoval(of: $0) }
    removals[0].end()
    #expect(generations.isBeingRemoved(key))
    #expect(generations.isBeingRemoved(other))
    removals[2].end()
    #expect(generations.isBeingRemoved(key))
    #expect(!generations.isBeingRemoved(other))
    removals[1].end()
    #expect(!generations.isBeingRemoved(key))
    #expect(!generations.isBeingRemoved(other))
  }

  @Test func `the generations of a layer end a removal that was given up before it began`() {
    _ = generations.beginRemoval(of: key)
    #expect(!generations.isBeingRemoved(key))
  }
}
