/// The rules of RFC 9111 and RFC 5861 for a private cache, as exchanges.
enum ProxyTable {
  typealias Step = ProxyRow.Step

  static let rows = freshness + statuses + directives + variants + validation + updates + ranges + unsafe + stale

  private static let fresh = "200; Cache-Control: max-age=60 | one"

  static let freshness: [ProxyRow] = [
    ProxyRow(
      "4.2 fresh until max-age, with Age",
      [
        Step(0, "GET", fresh, gets: "200; !Age | one"), Step(59, "GET", nil, gets: "200; Age: 59 | one"),
        Step(60, "GET", "200 | two", gets: "200; !Age | two"),
      ]),
    ProxyRow(
      "4.2.3 Age counts, and is renewed",
      [
        Step(0, "GET", "200; Cache-Control: max-age=60; Age: 30 | one", gets: "200; Age: 30 | one"),
        Step(29, "GET", nil, gets: "200; Age: 59 | one"), Step(30, "GET", fresh, gets: "200; !Age | one"),
      ]),
    ProxyRow(
      "5.3 Expires less Date, and Date stays as it was",
      [
        Step(0, "GET", "200; Expires: +60; Date: +0 | one", gets: "200 | one"),
        Step(59, "GET", nil, gets: "200; Age: 59; Date: +0; Expires: +60 | one"),
        Step(61, "GET", "200 | two", gets: "200 | two"),
      ]),
    ProxyRow(
      "5.3 Expires: 0 is stale",
      [Step(0, "GET", "200; Expires: 0 | one", gets: "200 | one"), Step(0, "GET", "200 | two", gets: "200 | two")]),
    ProxyRow(
      "4.2.1 max-age goes before Expires",
      [
        Step(0, "GET", "200; Cache-Control: max-age=60; Expires: -60; Date: +0 | one", gets: "200 | one"),
        Step(1, "GET", nil, gets: "200; Age: 1 | one"),
      ]),
    ProxyRow(
      "5.2.2.10 s-maxage says nothing to a private cache",
      [
        Step(0, "GET", "200; Cache-Control: s-maxage=60, max-age=1 | one", gets: "200 | one"),
        Step(2, "GET", "200 | two", gets: "200 | two"),
      ]),
    ProxyRow(
      "5.2 a quoted argument, and directives over lines",
      [
        Step(0, "GET", "200; Cache-Control: a=\"max-age=0\"; Cache-Control: max-age=\"60\" | one", gets: "200 | one"),
        Step(59, "GET", nil, gets: "200; Age: 59 | one"),
      ]),
    ProxyRow(
      "4.2.2 a tenth of the time since it was changed",
      [
        Step(0, "GET", "200; Last-Modified: -1000; Date: +0 | one", gets: "200 | one"),
        Step(99, "GET", nil, gets: "200; Age: 99 | one"),
        Step(100, "GET", "304", gets: "200 | one", sent: "If-Modified-Since: -1000"),
      ]),
    ProxyRow(
      "4 another query is another resource",
      [
        Step(0, "GET /a?b=1", fresh, gets: "200 | one"),
        Step(1, "GET /a?b=2", "200; Cache-Control: max-age=60 | two", gets: "200 | two"),
        Step(2, "GET /a?b=1", nil, gets: "200; Age: 2 | one"),
      ]),
  ]

  static let statuses: [ProxyRow] =
    [203, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599].map { status in
      ProxyRow(
        "3 \(status) is stored where it says for how long, and not used longer",
        [
          Step(0, "GET", "\(status); Cache-Control: max-age=60; Location: /b | one", gets: "\(status) | one"),
          Step(59, "GET", nil, gets: "\(status); Age: 59; Location: /b | one"),
          Step(60, "GET", "200 | two", gets: "200 | two"),
        ])
    } + [
      ProxyRow(
        "3 204 is stored, and has no body",
        [
          Step(0, "GET", "204; Cache-Control: max-age=60", gets: "204; !Content-Length; !Transfer-Encoding"),
          Step(1, "GET", nil, gets: "204; Age: 1; !Content-Length; !Transfer-Encoding"),
        ]),
      ProxyRow(
        "3 999 is no final status, and is passed on",
        [
          Step(0, "GET", "999; Cache-Control: max-age=60 | one", gets: "999 | one"),
          Step(1, "GET", "999 | two", gets: "999 | two"),
        ]),
    ]

  static let directives: [ProxyRow] = [
    ProxyRow(
      "5.2.2.5 no-store is not stored",
      [
        Step(0, "GET", "200; Cache-Control: no-store, max-age=60 | one", gets: "200 | one"),
        Step(0, "GET", "200 | two", gets: "200 | two"),
      ]),
    ProxyRow(
      "5.2.2.4 no-cache is stored, and asked for each time",
      [
        Step(0, "GET", "200; Cache-Control: no-cache, max-age=60; ETag: \"a\" | one", gets: "200 | one"),
        Step(0, "GET", "304", gets: "200 | one", sent: "If-None-Match: \"a\""),
      ]),
    ProxyRow(
      "5.2.2.7 private is stored",
      [
        Step(0, "GET", "200; Cache-Control: private, max-age=60 | one", gets: "200 | one"),
        Step(1, "GET", nil, gets: "200; Age: 1 | one"),
      ]),
    ProxyRow(
      "5.2.1.1 the request's max-age, 5.2.1.3 min-fresh, 5.2.1.2 max-stale",
      [
        Step(0, "GET", fresh, gets: "200 | one"),
        Step(40, "GET; Cache-Control: max-age=50, min-fresh=20", nil, gets: "200; Age: 40 | one"),
        Step(69, "GET; Cache-Control: max-stale=10", nil, gets: "200; Age: 69 | one"),
        Step(69, "GET; Cache-Control: max-stale=5", fresh, gets: "200 | one"),
        Step(110, "GET; Cache-Control: max-age=40", fresh, gets: "200 | one"),
        Step(151, "GET; Cache-Control: min-fresh=20", fresh, gets: "200 | one"),
      ]),
    ProxyRow(
      "5.2.1.4 no-cache and 5.4 Pragma ask the server",
      [
        Step(0, "GET", fresh, gets: "200 | one"),
        Step(1, "GET; Cache-Control: no-cache", "200; Cache-Control: max-age=60 | two", gets: "200 | two"),
        Step(2, "GET; Pragma: no-cache", "200; Cache-Control: max-age=60 | three", gets: "200 | three"),
        Step(3, "GET", nil, gets: "200; Age: 1 | three"),
      ]),
    ProxyRow(
      "5.2.1.7 only-if-cached",
      [
        Step(0, "GET; Cache-Control: only-if-cached", nil, gets: "504"), Step(0, "GET", fresh, gets: "200 | one"),
        Step(1, "GET; Cache-Control: only-if-cached", nil, gets: "200; Age: 1 | one"),
      ]),
    ProxyRow(
      "5.2.1.5 no-store in a request stores nothing",
      [
        Step(0, "GET; Cache-Control: no-store", fresh, gets: "200 | one"),
        Step(1, "GET", "200 | two", gets: "200 | two"),
      ]),
    ProxyRow(
      "3.5 what was asked for with Authorization is nobody else's",
      [
        Step(0, "GET; Authorization: a", fresh, gets: "200 | one", sent: "Authorization: a"),
        Step(1, "GET; Authorization: a", nil, gets: "200; Age: 1 | one"),
        Step(1, "GET; Authorization: b", "200 | two", gets: "200 | two"),
        Step(1, "GET", "200 | three", gets: "200 | three"),
      ]),
  ]

  static let variants: [ProxyRow] = [
    ProxyRow(
      "4.1 each variant is stored",
      [
        Step(0, "GET; Foo: 1", "200; Cache-Control: max-age=60; Vary: Foo | one", gets: "200 | one"),
        Step(1, "GET; Foo: 2", "200; Cache-Control: max-age=60; Vary: Foo | two", gets: "200 | two"),
        Step(2, "GET; Foo: 1", nil, gets: "200; Age: 2 | one"), Step(2, "GET; Foo: 2", nil, gets: "200; Age: 1 | two"),
        Step(2, "GET", "200; Vary: Foo | three", gets: "200 | three"),
      ]),
    ProxyRow(
      "4.1 lines and white space make no difference",
      [
        Step(0, "GET; Foo: 1, 2", "200; Cache-Control: max-age=60; Vary: foo, Bar | one", gets: "200 | one"),
        Step(1, "GET; Foo: 1; Foo: 2", nil, gets: "200; Age: 1 | one"),
        Step(1, "GET; Foo: 1,2; Bar: 3", "200; Vary: foo, Bar | two", gets: "200 | two"),
      ]),
    ProxyRow(
      "4.1 an asterisk is never matched",
      [
        Step(0, "GET", "200; Cache-Control: max-age=60; Vary: Foo, * | one", gets: "200 | one"),
        Step(0, "GET", "200 | two", gets: "200 | two"),
      ]),
  ]

  static let validation: [ProxyRow] = [
    ProxyRow(
      "4.3.1 both validators are sent as they came",
      [
        Step(
          0, "GET", "200; Cache-Control: max-age=1; ETag: W/\"a\"; Last-Modified: -60 | one",
          gets: "200; ETag: W/\"a\" | one"),
        Step(2, "GET", "304", gets: "200 | one", sent: "If-None-Match: W/\"a\"; If-Modified-Since: -60"),
      ]),
    ProxyRow(
      "4.3.3 another representation takes its place",
      [
        Step(0, "GET", "200; Cache-Control: max-age=1; ETag: \"a\" | one", gets: "200 | one"),
        Step(2, "GET", "200; Cache-Control: max-age=60; ETag: \"b\" | two", gets: "200; !Age | two"),
        Step(3, "GET", nil, gets: "200; ETag: \"b\"; Age: 1 | two"),
      ]),
    ProxyRow(
      "4.3.2 the client's own tag is held against what is stored",
      [
        Step(0, "GET", "200; Cache-Control: max-age=60; ETag: \"a\" | one", gets: "200 | one"),
        Step(1, "GET; If-None-Match: \"b\", W/\"a\"", nil, gets: "304; ETag: \"a\"; Age: 1; !Content-Length"),
        Step(1, "GET; If-None-Match: \"b\"", nil, gets: "200; Age: 1 | one"),
        Step(1, "GET; If-None-Match: *", nil, gets: "304"),
      ]),
    ProxyRow(
      "4.3.2 the client's own date is held against what is stored",
      [
        Step(0, "GET", "200; Cache-Control: max-age=60; Last-Modified: -60 | one", gets: "200 | one"),
        Step(1, "GET; If-Modified-Since: -60", nil, gets: "304; Last-Modified: -60"),
        Step(1, "GET; If-Modified-Since: -61", nil, gets: "200 | one"),
      ]),
    ProxyRow(
      "4.3.1 the stored tag is asked for in place of the client's",
      [
        Step(0, "GET", "200; Cache-Control: max-age=1; ETag: \"a\" | one", gets: "200 | one"),
        Step(2, "GET; If-None-Match: \"a\"", "304; ETag: \"a\"", gets: "304", sent: "If-None-Match: \"a\""),
        Step(4, "GET; If-None-Match: \"b\"", "304; ETag: \"a\"", gets: "200 | one", sent: "If-None-Match: \"a\""),
      ]),
    ProxyRow(
      "4.3 conditions of a client are sent on where nothing is stored",
      [
        Step(
          0, "GET; If-None-Match: \"a\"; Range: bytes=0-1", "304; ETag: \"a\"", gets: "304; ETag: \"a\"; !Age",
          sent: "If-None-Match: \"a\"; Range: bytes=0-1"),
        Step(0, "GET", fresh, gets: "200 | one", sent: "!If-None-Match"),
      ]),
  ]

  static let updates: [ProxyRow] = [
    ProxyRow(
      "3.2 a 304 renews the stored fields, all lines of them, and the lifetime",
      [
        Step(0, "GET", "200; Cache-Control: max-age=1; ETag: \"a\"; X: 1; X: 2; Y: 3 | one", gets: "200 | one"),
        Step(2, "GET", "304; Cache-Control: max-age=60; ETag: \"a\"; X: 4", gets: "200; X: 4; Y: 3 | one"),
        Step(3, "GET", nil, gets: "200; X: 4; Y: 3; Cache-Control: max-age=60; Age: 1 | one"),
      ]),
    ProxyRow(
      "3.2 but not what describes the stored bytes",
      [
        Step(0, "GET", "200; Cache-Control: max-age=1; ETag: \"a\"; Content-Encoding: x | one", gets: "200 | one"),
        Step(
          2, "GET", "304; ETag: \"a\"; Content-Length: 10; Content-Encoding: y",
          gets: "200; Content-Length: 3; Content-Encoding: x | one"),
      ]),
    ProxyRow(
      "3 Set-Cookie is stored, each line of its own, and renewed",
      [
        Step(0, "GET", "200; Cache-Control: max-age=1; ETag: \"a\"; Set-Cookie: a=b | one", gets: "200 | one"),
        Step(2, "GET", "304; Cache-Control: max-age=60; Set-Cookie: a=c", gets: "200; Set-Cookie: a=c | one"),
        Step(3, "GET", nil, gets: "200; Set-Cookie: a=c; Age: 1 | one"),
      ]),
    ProxyRow(
      "3.1 fields of the connection are neither sent on nor stored",
      [
        Step(
          0, "GET",
          "200; Cache-Control: max-age=60; Connection: a, B; a: 1; b: 2; c: 3; Keep-Alive: x; Upgrade: x | one",
          gets: "200; !a; !b; c: 3; !Keep-Alive; !Upgrade | one"),
        Step(1, "GET", nil, gets: "200; !a; !b; c: 3; !Keep-Alive; !Upgrade; Age: 1 | one"),
      ]),
    ProxyRow(
      "4 HEAD is answered from what is stored",
      [
        Step(0, "GET", fresh, gets: "200 | one"), Step(1, "HEAD", nil, gets: "200; Content-Length: 3; Age: 1"),
        Step(2, "GET", nil, gets: "200 | one"),
      ]),
    ProxyRow(
      "4.3.5 an answer to HEAD renews what is stored",
      [
        Step(0, "GET", "200; Cache-Control: max-age=1; ETag: \"a\"; X: 1 | one", gets: "200 | one"),
        Step(2, "HEAD", "200; Cache-Control: max-age=60; ETag: \"a\"; X: 2 | one", gets: "200; X: 2"),
        Step(3, "GET", nil, gets: "200; X: 2; Age: 1 | one"),
      ]),
  ]

  static let ranges: [ProxyRow] = [
    ProxyRow(
      "RFC 9110 14.2 a part of what is stored",
      [
        Step(0, "GET", "200; Cache-Control: max-age=60; ETag: \"a\" | 0123456789", gets: "200 | 0123456789"),
        Step(1, "GET; Range: bytes=0-1", nil, gets: "206; Content-Range: bytes 0-1/10; Content-Length: 2 | 01"),
        Step(1, "GET; Range: bytes=8-", nil, gets: "206; Content-Range: bytes 8-9/10 | 89"),
        Step(1, "GET; Range: bytes=-1", nil, gets: "206; Content-Range: bytes 9-9/10 | 9"),
        Step(1, "GET; Range: bytes=10-", nil, gets: "416; Content-Range: bytes */10"),
        Step(1, "GET; Range: bytes=0-1; If-Range: \"b\"", nil, gets: "200 | 0123456789"),
      ]),
    ProxyRow(
      "3.3 206 is passed on untouched, and not stored",
      [
        Step(
          0, "GET; Range: bytes=2-3", "206; Cache-Control: max-age=60; Content-Range: bytes 2-3/10 | 23",
          gets: "206; Content-Range: bytes 2-3/10; !Age | 23", sent: "Range: bytes=2-3"),
        Step(1, "GET", fresh, gets: "200 | one", sent: "!Range"),
      ]),
  ]

  static let unsafe: [ProxyRow] =
    ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "CHECKOUT"].map { method in
      ProxyRow(
        "4.4 \(method) makes its target stale, and not where it fails",
        [
          Step(0, "GET", fresh, gets: "200 | one"), Step(1, "\(method) | x", "500 | no", gets: "500 | no"),
          Step(2, "GET", nil, gets: "200; Age: 2 | one"), Step(3, "\(method) | x", "200 | ok", gets: "200 | ok"),
          Step(4, "GET", "200 | two", gets: "200 | two"),
        ])
    } + [
      ProxyRow(
        "4.4 and what Location and Content-Location name",
        [
          Step(0, "GET /b", fresh, gets: "200 | one"), Step(0, "GET /c", fresh, gets: "200 | one"),
          Step(0, "GET /d", fresh, gets: "200 | one"),
          Step(1, "POST | x", "201; Location: /b; Content-Location: c", gets: "201; Location: /b"),
          Step(2, "GET /b", "200 | two", gets: "200 | two"), Step(2, "GET /c", "200 | two", gets: "200 | two"),
          Step(2, "GET /d", nil, gets: "200; Age: 2 | one"),
        ]),
      ProxyRow(
        "4.4 for every user",
        [
          Step(0, "GET; Authorization: a", fresh, gets: "200 | one"), Step(0, "GET", fresh, gets: "200 | one"),
          Step(1, "POST; Authorization: b | x", "200 | ok", gets: "200 | ok"),
          Step(2, "GET; Authorization: a", fresh, gets: "200; !Age | one"),
          Step(2, "GET", fresh, gets: "200; !Age | one"),
        ]),
      ProxyRow(
        "RFC 9110 9.3.3 an answer to POST that is the resource's is stored",
        [
          Step(0, "POST | x", "200; Cache-Control: max-age=60; Content-Location: /a | one", gets: "200 | one"),
          Step(1, "GET", nil, gets: "200; Age: 1 | one"), Step(2, "POST | x", fresh, gets: "200; !Age | one"),
        ]),
    ]

  static let stale: [ProxyRow] =
    ["must-revalidate", "proxy-revalidate", "no-cache", "s-maxage=2"].map { directive in
      ProxyRow(
        "4.2.4 \(directive) is not used stale, whatever the proxy was told", staleOnDisconnect: true,
        [
          Step(0, "GET", "200; Cache-Control: max-age=2, \(directive) | one", gets: "200 | one"),
          Step(3, "GET", "-", gets: "502"),
        ])
    } + [
      ProxyRow(
        "4.2.4 stale where the server hangs up, where the proxy was told to", staleOnDisconnect: true,
        [Step(0, "GET", fresh, gets: "200 | one"), Step(99, "GET", "-", gets: "200; Age: 99 | one")]),
      ProxyRow(
        "4.2.4 else 502", [Step(0, "GET", fresh, gets: "200 | one"), Step(99, "GET", "-", gets: "502; !Age")]),
      ProxyRow(
        "RFC 5861 4 stale-if-error, hung up or 503, and no longer than it says",
        [
          Step(0, "GET", "200; Cache-Control: max-age=2, stale-if-error=60 | one", gets: "200 | one"),
          Step(9, "GET", "-", gets: "200; Age: 9 | one"), Step(9, "GET", "503 | no", gets: "200; Age: 9 | one"),
          Step(63, "GET", "503 | no", gets: "503 | no"), Step(63, "GET", "-", gets: "502"),
        ]),
    ]
}
