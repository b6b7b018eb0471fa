extension EventStreamConformance.Row {
  /// Every row, in the order of the page.
  package static let all: [Self] = [
    Self(1, #"One space behind the colon is no part of the value"#, #"`data: a¶¶`"#, #"`a`"#),
    Self(2, #"…and may be missing"#, #"`data:a¶¶`"#, #"`a`"#),
    Self(3, #"…but a second one is"#, #"`data:  a¶¶`"#, #"` a`"#),
    Self(4, #"…and so is a tabulator"#, #"`data:⇥a¶¶`"#, #"`⇥a`"#),
    Self(5, #"A field without a colon has an empty value"#, #"`data¶¶`"#, #"`""`"#),
    Self(
      6, #"Each line of data ends with a line feed, the last one without"#, #"`data:¶¶data¶data¶¶data:test¶¶`"#,
      #"`""`, `¶`, `test`"#),
    Self(7, #"Several lines of data are one event"#, #"`data:a¶data:b¶¶`"#, #"`a¶b`"#),
    Self(8, #"Only the first colon separates"#, #"`data: a: b¶¶`"#, #"`a: b`"#),
    Self(9, #"CRLF ends a line"#, #"`data:a⏎¶data:b⏎¶⏎¶data:c⏎¶⏎¶`"#, #"`a¶b`, `c`"#),
    Self(10, #"CR ends a line, without a further byte"#, #"`data:a⏎⏎`"#, #"`a`"#),
    Self(11, #"A line feed behind a CR belongs to it"#, #"`data:a⏎¶data:b¶¶`"#, #"`a¶b`"#),
    Self(12, #"A CR behind a line feed is another end"#, #"`data:a¶⏎`"#, #"`a`"#),
    Self(13, #"The three ends may be mixed"#, #"`data:a⏎¶data:b¶data:c⏎⏎data:d¶⏎¶data:e⏎¶¶`"#, #"`a¶b¶c`, `d`, `e`"#),
    Self(14, #"Empty lines are no events"#, #"`¶¶¶`"#, #"none"#),
    Self(15, #"An event without its empty line is dropped"#, #"`data:a¶`"#, #"none"#),
    Self(16, #"…behind another event too"#, #"`data:a¶¶data:b`"#, #"`a`"#),
    Self(17, #"A byte order mark at the start is removed"#, #"`\xEF\xBB\xBFdata:a¶¶`"#, #"`a`"#),
    Self(
      18, #"…but not a second one, which belongs to the name"#, #"`\xEF\xBB\xBF\xEF\xBB\xBFdata:a¶¶data:b¶¶`"#, #"`b`"#),
    Self(19, #"A comment is no event"#, #"`:c¶¶`"#, #"none"#),
    Self(20, #"…and may be inside of one"#, #"`data:a¶:c¶data:b¶¶`"#, #"`a¶b`"#),
    Self(21, #"An unknown field is ignored"#, #"`foo:1¶data:a¶¶`"#, #"`a`"#),
    Self(22, #"Names are in lower case"#, #"`Data:a¶¶`"#, #"none"#),
    Self(23, #"…without a space behind them"#, #"`data :a¶¶`"#, #"none"#),
    Self(24, #"…or before them"#, #"` data:a¶¶`"#, #"none"#),
    Self(25, #"An event may have a type"#, #"`event:x¶data:a¶¶`"#, #"`a` of type `x`"#),
    Self(26, #"The type of a block without data is lost"#, #"`event:x¶¶data:a¶¶`"#, #"`a`"#),
    Self(27, #"An empty type is `message`"#, #"`event:¶data:a¶¶`"#, #"`a`"#),
    Self(28, #"The last type counts"#, #"`event:a¶event:b¶data:1¶¶`"#, #"`1` of type `b`"#),
    Self(
      29, #"An id stays for the next events"#, #"`id:1¶data:a¶¶data:b¶¶`"#, #"`a` with id `1`, `b` with id `1`"#,
      then: #"id `1`"#),
    Self(30, #"A block without data moves the position"#, #"`id:1¶¶`"#, #"none"#, then: #"id `1`"#),
    Self(31, #"An empty id resets it"#, #"`id:1¶¶id¶data:a¶¶`"#, #"`a`"#, then: #"id `""`"#),
    Self(
      32, #"An id with a null character is ignored"#, #"`id:2¶¶id:1\x00¶data:a¶¶`"#, #"`a` with id `2`"#,
      then: #"id `2`"#),
    Self(33, #"A block that does not end moves nothing"#, #"`id:1¶data:a¶`"#, #"none"#, then: #"id `""`"#),
    Self(34, #"The last id counts"#, #"`id:a¶id:b¶¶`"#, #"none"#, then: #"id `b`"#),
    Self(37, #"A wait needs no data, and no empty line"#, #"`retry:3000¶`"#, #"none"#, then: #"retry `3000`"#),
    Self(38, #"It is a number in base ten"#, #"`retry:03000¶`"#, #"none"#, then: #"retry `3000`"#),
    Self(
      39, #"…of ASCII digits only"#, #"`retry:3s¶retry:-1¶retry:1.5¶retry:٣¶retry:0x9¶`"#, #"none"#,
      then: #"retry `none`"#),
    Self(40, #"…at least one of them"#, #"`retry:3000¶retry¶retry:¶`"#, #"none"#, then: #"retry `3000`"#),
    Self(
      41, #"A number may be larger than any integer"#, #"`retry:99999999999999999999¶data:a¶¶`"#, #"`a`"#,
      then: #"retry `any`"#),
    Self(42, #"A null character is data"#, #"`data:\x00¶¶`"#, #"`\x00`"#),
    Self(43, #"A byte that is not UTF-8 becomes U+FFFD"#, #"`data:\xFF¶¶`"#, #"`\xEF\xBF\xBD`"#),
    Self(44, #"A character may come in pieces"#, #"`data:é¶¶`"#, #"`é`"#),
    Self(45, #"The begin of a character becomes one U+FFFD"#, #"`data:\xE2\x82¶¶`"#, #"`\xEF\xBF\xBD`"#),
    Self(
      46, #"…and half of a surrogate pair three"#, #"`data:\xED\xA0\x80¶¶`"#, #"`\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD`"#
    ),
    Self(
      47, #"No other character ends a line"#, #"`data:a\xE2\x80\xA8b\xC2\x85c\x0Bd\x0Ce¶¶`"#,
      #"`a\xE2\x80\xA8b\xC2\x85c\x0Bd\x0Ce`"#),
    Self(48, #"More empty lines are no more events"#, #"`data:a¶¶¶¶data:b¶¶`"#, #"`a`, `b`"#),
  ]
}
