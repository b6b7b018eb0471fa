import ReactorCore
import Testing

@testable import WebReader

@Suite struct `The address of a page` {
  @Test(
    arguments: [
      ("/", "list", nil), ("/?before=7", "list", nil), ("/articles/3", "article", "articles/3"),
      ("/authors/2", "author", "authors/2"), ("/search?q=fog%20bank&page=2", "search", nil),
      ("/reading-list", "reading-list", "reading-list"),
    ] as [(String, String, String?)])
  func `the address of a page says which screen it shows`(location: String, name: String, path: String?) throws {
    let screen = try #require(ScreenLocation.screen(at: location))
    #expect(type(of: screen).name == name)
    #expect((screen as? any ResourceScreen)?.resource.path == path)
  }

  @Test func `the address of a page says where the front page begins`() throws {
    #expect(try #require(ScreenLocation.screen(at: "/?before=7") as? FrontPageScreen).before == 7)
    #expect(try #require(ScreenLocation.screen(at: "/") as? FrontPageScreen).before == nil)
  }

  @Test(arguments: [
    "/articles/x", "/articles/3/4", "/elsewhere", "/elsewhere/3", "http://[", "/articles/99999999999999999999",
  ])
  func `a location without a screen is refused`(location: String) {
    #expect(ScreenLocation.screen(at: location) == nil)
  }

  @Test(arguments: ["/search?q=fog%20bank&page=2", "/search?q=fog+bank&page=2"])
  func `the address of a page holds what is looked for`(location: String) throws {
    let screen = try #require(ScreenLocation.screen(at: location) as? SearchScreen)
    #expect(screen.query == Window.Query(text: "fog bank", page: 2))
  }
}
