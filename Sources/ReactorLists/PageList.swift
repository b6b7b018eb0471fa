public import ReactorCore
public import ReactorWrites

/// The loaded pages of a list, in order.
///
/// ```swift
/// let list = try await pages.fetch()
/// show(list.members, hasMore: list.hasNext)
/// ```
///
/// All pages are a chain: each is the page that the one before it links to.
public struct PageList<Page: Sendable>: RandomAccessCollection, Sendable {
  private var pages: [Page]
  /// The order in which the pages were requested.
  private var asked: [UInt64]

  /// A Boolean value that indicates whether a page follows the last loaded page.
  public var hasNext: Bool
  /// A Boolean value that indicates whether a page precedes the first loaded page.
  public var hasPrevious: Bool
  /// A Boolean value that indicates whether the next page is being loaded.
  public var isLoadingNext: Bool
  /// A Boolean value that indicates whether the previous page is being loaded.
  public var isLoadingPrevious: Bool
  /// The error of the latest attempt to load the next page; `nil` after a success.
  public var nextError: ReactorError?
  /// The error of the latest attempt to load the previous page; `nil` after a success.
  public var previousError: ReactorError?

  /// Creates a list, for example in a preview or a test. By default, no page follows or precedes.
  ///
  /// ```swift
  /// let list = PageList([[story]], hasNext: true, nextError: .noConnectivity)
  /// ```
  public init(
    _ pages: [Page] = [], hasNext: Bool = false, hasPrevious: Bool = false, isLoadingNext: Bool = false,
    isLoadingPrevious: Bool = false, nextError: ReactorError? = nil, previousError: ReactorError? = nil
  ) {
    self.pages = pages
    asked = pages.indices.map { UInt64($0) }
    self.hasNext = hasNext
    self.hasPrevious = hasPrevious
    self.isLoadingNext = isLoadingNext
    self.isLoadingPrevious = isLoadingPrevious
    self.nextError = nextError
    self.previousError = previousError
  }

  /// - Parameters:
  ///   - pages: the pages, which are shared and not copied.
  ///   - asked: for each of them, the number of its request.
  init(_ pages: [Page], asked: [UInt64]) {
    self.pages = pages
    self.asked = asked
    (hasNext, hasPrevious, isLoadingNext, isLoadingPrevious) = (false, false, false, false)
  }

  public var startIndex: Int { pages.startIndex }
  public var endIndex: Int { pages.endIndex }
  /// The page at a position.
  public subscript(position: Int) -> Page { pages[position] }
}

extension PageList where Page: EntityContainer {
  /// The members of all pages, each id once.
  ///
  /// ```swift
  /// for story in list.members { print(story.title) }
  /// ```
  ///
  /// When a server inserts or deletes while pages load, two pages may hold one member. The list
  /// then has the member of the page that was requested later. Computed on each access, in time
  /// proportional to the members.
  public var members: [Page.Member] {
    var found: [(member: Page.Member, page: Int)] = []
    var owner: [Page.Member.ID: Int] = [:]
    for (index, page) in pages.enumerated() {
      var page = page
      page.updateMembers { member in
        found.append((member, index))
        if let other = owner[member.id], asked[other] >= asked[index] { return member }
        owner[member.id] = index
        return member
      }
    }
    var taken: Set<Page.Member.ID> = []
    return found.compactMap { owner[$0.member.id] == $0.page && taken.insert($0.member.id).inserted ? $0.member : nil }
  }
}
