import Testing

@Test func `tests are built beside the program`() {}
