import ReactorFlux

extension Event where Payload == Int {
  static var added: Event { Event("added") }
}

@MainActor protocol Counting: PlainStore {
  var count: Int { get }
}

/// True while the stores notify observers of each change. The same code is measured with and
/// without.
@MainActor var tellsChanges = false

/// Written out, as a program's stores are: a generic store would not be compiled for its type.
@MainActor let storeTypes: [any Counting.Type] = [
  Store01.self,
  Store02.self,
  Store03.self,
  Store04.self,
  Store05.self,
  Store06.self,
  Store07.self,
  Store08.self,
  Store09.self,
  Store10.self,
  Store11.self,
  Store12.self,
  Store13.self,
  Store14.self,
  Store15.self,
  Store16.self,
  Store17.self,
  Store18.self,
  Store19.self,
  Store20.self,
]

final class Store01: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store01>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store02: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store02>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store03: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store03>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store04: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store04>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store05: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store05>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store06: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store06>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store07: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store07>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store08: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store08>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store09: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store09>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store10: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store10>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store11: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store11>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store12: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store12>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store13: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store13>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store14: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store14>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store15: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store15>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store16: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store16>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store17: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store17>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store18: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store18>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store19: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store19>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}

final class Store20: Counting {
  let context = StoreContext()
  private(set) var count = 0

  static let handlers: [ActionHandler<Store20>] = [
    .on(.added) { store, action in
      store.count += action.payload ?? 0
      if tellsChanges { store.emitChange() }
    }
  ]
}
