import ReactorCore
import Testing

@testable import WebReader

@Suite struct `The address of a page` {
  @Test(arguments: [
    ("/", "list", "articles"), ("/?page=2", "list", "articles"), ("/articles/3", "article", "articles/3"),
    ("/authors/2", "author", "authors/2"), ("/search?q=fog%20bank&page=2", "search", "search"),
    ("/reading-list", "reading-list", "reading-list"),
  ])
  func `says which screen it shows`(location: String, name: String, path: String) throws {
    let screen = try #require(ScreenLocation.screen(at: location))
    #expect(type(of: screen).name == name)
    #expect(screen.resource.path == path)
  }

  @Test(arguments: [
    "/articles/x", "/articles/3/4", "/elsewhere", "/elsewhere/3", "http://[", "/articles/99999999999999999999",
  ])
  func `that shows none is refused`(location: String) {
    #expect(ScreenLocation.screen(at: location) == nil)
  }

  @Test(arguments: ["/search?q=fog%20bank&page=2", "/search?q=fog+bank&page=2"])
  func `holds what is looked for`(location: String) throws {
    let screen = try #require(ScreenLocation.screen(at: location) as? SearchScreen)
    #expect(screen.text == "fog bank" && screen.page == 2)
  }
}
