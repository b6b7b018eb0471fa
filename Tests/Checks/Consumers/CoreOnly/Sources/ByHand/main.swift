import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct Article: Codable, Sendable { var title: String }
guard let url = URL(string: "https://api.example.com/articles") else { exit(1) }
URLSession.shared.dataTask(with: url) { data, _, _ in
  print(data.flatMap { try? JSONDecoder().decode([Article].self, from: $0) }?.count ?? 0)
  exit(0)
}.resume()
dispatchMain()
