import Testing

@testable import ReactorOutbox

@Suite struct `The numbers of a store that are known` {
  private var numbers = StoreNumbers()

  @Test mutating func `numbers are complete while only this process adds entries`() {
    for number in UInt64(1)...5 { numbers.noteSaved(number) }
    #expect(numbers.complete == 5)
  }

  @Test mutating func `the numbers of a store that are known end before a gap, until the store is read`() {
    numbers.noteSaved(1)
    numbers.noteSaved(3)
    #expect(numbers.complete == 1)
    // The entry has ended and is no longer in the store.
    numbers.noteRead(upTo: 2, since: numbers.saved)
    #expect(numbers.complete == 3)
  }

  @Test mutating func `a read that began before an entry was saved does not raise the store's known number`() {
    numbers.noteSaved(1)
    let mark = numbers.saved
    numbers.noteSaved(3)
    numbers.noteRead(upTo: 1, since: mark)
    #expect(numbers.complete == 1)
  }

  @Test mutating func `the numbers of a store that are known go on over a gap in which the store has nothing`() {
    numbers.noteSaved(1)
    numbers.noteSaved(3)
    numbers.noteGap(from: 1, to: 3)
    #expect(numbers.complete == 3)
    // The store was read meanwhile, or counts again.
    numbers.noteGap(from: 1, to: 9)
    #expect(numbers.complete == 3)
  }

  @Test(arguments: [UInt64(1), 4, 5]) mutating func `no number is known once the store counts again`(number: UInt64) {
    for number in UInt64(1)...5 { numbers.noteSaved(number) }
    numbers.noteSaved(number)
    #expect(numbers.complete == 0 && numbers.saved == number)
    numbers.noteRead(upTo: number, since: numbers.saved)
    #expect(numbers.complete == number)
  }
}
