import HTTPTypes

/// A page of a scripted list, and its links.
struct PageTarget {
  let index: Int
  /// The path of the page, with its query.
  let target: String
  let links: [(target: String, relation: String)]

  /// Returns the pages of a list, whose first one is at `path`.
  static func pages(of path: String, count: Int) -> [PageTarget] {
    let targets = (0..<count).map { index in
      index == 0 ? path : "\(path)\(path.contains("?") ? "&" : "?")page=\(index + 1)"
    }
    return targets.indices.map { index in
      var links: [(String, String)] = []
      if index + 1 < count { links.append((targets[index + 1], "next")) }
      if index > 0 { links.append((targets[index - 1], "prev")) }
      return PageTarget(index: index, target: targets[index], links: links)
    }
  }

  /// Returns the value of a `Link` field (RFC 8288 §3).
  static func link(_ target: String, _ relation: String) -> String { "<\(target)>; rel=\"\(relation)\"" }
}

extension HTTPFields {
  /// Adds a field `Link`, in addition to existing ones.
  mutating func addLink(_ target: String, _ relation: String) {
    guard let name = HTTPField.Name("Link") else { return }
    append(HTTPField(name: name, value: PageTarget.link(target, relation)))
  }
}
