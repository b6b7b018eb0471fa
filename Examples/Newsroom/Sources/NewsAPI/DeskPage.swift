/// The editors' page as HTML.
struct DeskPage {
  let articles: [Article]
  /// The article that is corrected.
  let chosen: Article?
  /// The story that is published next.
  let next: Newspaper.Story

  var text: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>The news desk</title>
      <style>\(Self.style)</style>
    </head>
    <body>
      <main>
        <h1>The news desk</h1>
        <p class="hint">Readers see a new story above the others, and a correction in every list.</p>
        \(chosen.map(correction) ?? publication)
        <h2>Published</h2>
        <ol>\(articles.map(item).joined())</ol>
      </main>
    </body>
    </html>
    """
  }

  private var publication: String {
    """
    <form method="post" action="/desk/articles" id="publish">
      <h2>Publish a story</h2>
      \(field("Section", "section", next.section))
      \(field("Title", "title", next.title))
      \(area("Standfirst", "standfirst", next.standfirst))
      <button>Publish</button>
    </form>
    """
  }

  private func correction(of article: Article) -> String {
    """
    <form method="post" action="/desk/articles/\(article.summary.id)" id="correct">
      <h2>Correct a story</h2>
      \(field("Title", "title", article.summary.title))
      \(area("Standfirst", "standfirst", article.summary.standfirst))
      \(field("Note for the reader", "note", article.note ?? ""))
      <p><button>Correct</button> <a href="/desk">Done</a></p>
    </form>
    """
  }

  private func item(of article: Article) -> String {
    let state = article.summary.corrected == nil ? "" : " <small>corrected</small>"
    return """
      <li><a href="/desk?article=\(article.summary.id)">\(Self.escaped(article.summary.title))</a>\(state)</li>
      """
  }

  private func field(_ label: String, _ name: String, _ value: String) -> String {
    "<label>\(label) <input name=\"\(name)\" value=\"\(Self.escaped(value))\" autocomplete=\"off\"></label>"
  }

  private func area(_ label: String, _ name: String, _ value: String) -> String {
    "<label>\(label) <textarea name=\"\(name)\" rows=\"3\">\(Self.escaped(value))</textarea></label>"
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }

  private static let style = """
    :root { color-scheme: light dark; --line: light-dark(#d9dde3, #343842); --ink: light-dark(#1b1b1f, #ecebe6);
      --paper: light-dark(#f4f6f8, #15171c); --card: light-dark(#fff, #1e2128); --accent: light-dark(#1d5fa8, #8fc1ff); }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--paper); color: var(--ink); font: 400 1rem/1.5 system-ui, sans-serif; }
    main { max-width: 44rem; margin: auto; padding: 2rem 1.25rem 3rem; }
    h1 { margin: 0; font-size: 1.8rem; } h2 { margin: 0 0 .4rem; font-size: 1.15rem; }
    form { display: grid; gap: .9rem; margin: 1.4rem 0 2rem; padding: 1.3rem; background: var(--card);
      border: 1px solid var(--line); border-radius: 14px; }
    form p { margin: 0; }
    label { display: grid; gap: .3rem; font-weight: 600; }
    input, textarea { width: 100%; padding: .55rem .75rem; font: inherit; color: inherit; background: var(--paper);
      border: 1px solid var(--line); border-radius: 9px; resize: vertical; }
    button { justify-self: start; padding: .6rem 1.3rem; margin-right: .8rem; border: 0; border-radius: 999px;
      font: inherit; font-weight: 600; color: light-dark(#fff, #10233a); background: var(--accent); cursor: pointer; }
    ol { margin: 0; padding: 0; list-style: none; } li { padding: .55rem 0; border-top: 1px solid var(--line); }
    a { color: var(--accent); } li a { color: inherit; text-decoration: none; } li a:hover { text-decoration: underline; }
    small { padding: .1em .5em; border-radius: 999px; color: var(--accent); border: 1px solid currentColor; }
    .hint { margin: .2rem 0 0; opacity: .75; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    """
}
