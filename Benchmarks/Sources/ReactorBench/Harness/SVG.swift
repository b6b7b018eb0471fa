/// The parts of a picture that is readable on light and on dark pages.
enum SVG {
  /// - Parameters:
  ///   - label: describes the picture to readers who do not see it.
  ///   - style: the rules beside those of the texts.
  static func document(
    width: Double, height: Double, label: String, style: String, darkStyle: String, _ elements: [String]
  ) -> String {
    let (width, height) = (Table.fixed(width, 0), Table.fixed(height, 0))
    let start = """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" \
      viewBox="0 0 \(width) \(height)" role="img" aria-label="\(label)">
      <style>
      text { font: 11px system-ui, sans-serif; fill: #57606a; }
      .title { font-size: 12px; font-weight: 600; fill: #24292f; }
      \(style)
      @media (prefers-color-scheme: dark) {
        text { fill: #9198a1; } .title { fill: #f0f6fc; } \(darkStyle)
      }
      </style>
      """
    return ([start] + elements + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  static func text(_ x: Double, _ y: Double, _ text: String, _ kind: String = "", anchor: String = "start") -> String {
    let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    return """
      <text x="\(Table.fixed(x, 1))" y="\(Table.fixed(y, 1))" text-anchor="\(anchor)" class="\(kind)">\(escaped)</text>
      """
  }
}
