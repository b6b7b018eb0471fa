/// An article of the news API: the demo's model.
struct Article: Codable, Hashable, Sendable {
  struct Author: Codable, Hashable, Sendable {
    struct Desk: Codable, Hashable, Sendable {
      var name: String
    }

    var id: Int
    var name: String
    var desk: Desk
  }

  var id: Int
  var title: String
  var author: Author
}
