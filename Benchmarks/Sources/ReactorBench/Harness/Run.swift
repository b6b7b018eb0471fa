import Foundation

/// One run: the file that `--json` writes and `compare` reads.
struct Run: Codable, Sendable {
  var machine: Machine
  var figures: [Figure]
  var curves: [Curve] = []

  init(machine: Machine, figures: [Figure], curves: [Curve]) {
    self.machine = machine
    self.figures = figures
    self.curves = curves
  }

  init(contentsOf path: String) throws {
    self = try JSONDecoder().decode(Run.self, from: Data(contentsOf: URL(filePath: path)))
  }

  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(self).write(to: URL(filePath: path))
  }
}
