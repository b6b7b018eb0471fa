import Foundation
import ReactorCore

struct Article: Codable, Sendable { var title: String }
guard let url = URL(string: "https://api.example.com") else { exit(1) }
let caches = URL.temporaryDirectory.appending(path: "articles")
let articles = Reactor<[Article]>(baseURL: url, persistence: FilePersistence(directory: caches))
print((try? await articles.fetch("articles"))?.count ?? 0)
