/// Field values that a parser of ours has to take: what servers send, what is almost that, and what
/// once was taken wrongly.
enum FieldCorpus {
  static let values =
    directives + dates + [
      "", " ", ",", ",,", "\"", "\"\"", "\\", "\"\\", "\"\\\"", "=", "==", "=,=", "a=", "=a", "a=\"", "a=\"\\\"\"", "*",
      "*, *",
      "Accept, accept-language", "Accept;q=1", "bytes", "bytes=", "bytes=-", "bytes=0-", "bytes=-0", "bytes=-1",
      "bytes=0-0",
      "bytes=9-1", "bytes=0-99999999999999999999", "bytes=99999999999999999999-", "bytes=-99999999999999999999",
      "bytes=0-1,2-3", "BYTES=0-1", "bytes = 0-1", "bytes=0 - 1", "\"a\"", "W/\"a\"", "w/\"a\"", "W/", "W/\"", "W\"a\"",
      "\"a\"b\"", "\"a\", W/\"b\", c", "0", "1", "-1", "+1", "1.5", "1e9", "2147483647", "2147483648",
      "9223372036854775807",
      "9223372036854775808", "99999999999999999999999999", "0, 70", "٦", "🙂", "\u{0}", "\t1\t", "close, a, b",
      "a@b, (c)",
      "</a?token=s3cret&x=1>; rel=next, </b?x=1#token=s3cret>", "?token=",
      "/a", "../a", "//other.example.com/a", "https://api.example.com:99999/a", "?", "#", "%", "%ZZ", "http://[::1",
      "\u{7F}",
    ]

  private static let directives = [
    "max-age=60", "MAX-AGE=\"60\"", "max-age", "max-age=", "max-age= 60", "max-age =60", "max-age=60, max-age=1",
    "max-age='1'",
    "public, max-age=31536000, immutable", "private, no-cache=\"Set-Cookie, X\", no-store", "no-store, must-understand",
    "must-revalidate, proxy-revalidate, s-maxage=5", "stale-while-revalidate=30, stale-if-error=86400",
    "max-stale", "max-stale=5, min-fresh=1, only-if-cached", "a=\"max-age=9, b\", max-age=1", "no-cache, \"max-age=1",
  ]

  private static let dates = [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "Sat, 31 Dec 2016 23:59:60 GMT", "Thu, 29 Feb 2024 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
    "Sat, 01 Jan 0000 00:00:00 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994", "Sun,", "Sun", "soon",
  ]
}
