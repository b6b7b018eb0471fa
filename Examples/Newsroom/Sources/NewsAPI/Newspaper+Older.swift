extension Newspaper {
  /// The stories of the days before: many, so that there is something to scroll through.
  static let olderStories: [Story] = (0..<58).map { index in
    let (people, place) = places[index % places.count]
    return columns[index % columns.count](people, place)
  }

  /// The stories that the desk may publish next.
  static let drawer: [Story] = [
    Story(
      "Science", "The moth that reads street lamps",
      "Researchers switched off one lamp in four. By the second week the moths had drawn a map of the rest."),
    Story(
      "Cities", "A tram stop with a guest room",
      "Whoever misses the last one finds a bed, a kettle and the timetable, framed."),
    Story(
      "Culture", "The museum of unfinished letters",
      "Nine hundred beginnings, and a desk at which a visitor may add the next line."),
    Story(
      "Technology", "A clock that asks the neighbours",
      "It has no dial and no battery. It is right because the street agrees."),
    Story(
      "Climate", "The well that was on the wrong map",
      "A surveyor's slip of 1904 hid it under a car park. This summer it watered a district."),
    Story(
      "Business", "The market that closes for lunch",
      "Two hours, every day, together at one table. Sales have not fallen; complaints have."),
    Story(
      "Sport", "A relay across four generations",
      "The youngest runner was six, the oldest eighty-one. The baton was a rolling pin."),
  ]

  private static let places = [
    ("beekeepers", "Dunmere"), ("night nurses", "Port Aldine"), ("bell ringers", "Sankt Orlen"),
    ("cartographers", "Velm"), ("tram drivers", "Casteron"), ("weavers", "Low Hallam"), ("pilots", "Isle Breda"),
    ("gardeners", "Tarn Abbey"), ("typesetters", "Olvedo"), ("lock keepers", "Nine Mills"),
  ]

  private static let columns: [@Sendable (_ people: String, _ place: String) -> Story] = [
    { people, place in
      Story(
        "Science", "What the \(people) of \(place) measured",
        "Ten years of notes, one borrowed scale, and a curve that nobody had drawn before.")
    },
    { people, place in
      Story(
        "Cities", "A square in \(place), lent to its \(people)",
        "For one year it has no owner and no parking. The council is in no hurry to ask for it back.")
    },
    { people, place in
      Story(
        "Technology", "The \(people) of \(place) run their own exchange",
        "It has forty lines, a switchboard from a flea market, and better hours than the big one.")
    },
    { people, place in
      Story(
        "Culture", "\(place) has an opera, and its \(people) sing it",
        "The premiere was twice sold out, once by mistake. Both audiences stayed.")
    },
    { people, place in
      Story(
        "Climate", "How the \(people) of \(place) count the rain",
        "A row of jam jars on a wall has become the longest record in the province.")
    },
    { people, place in
      Story(
        "Business", "The \(people) of \(place) share one till",
        "Whoever closes last does the sums. So far, nobody has had to do them twice.")
    },
    { people, place in
      Story(
        "Sport", "\(place) plays on Sundays, with \(people) in goal",
        "They have lost every match but one, and would rather talk about the pitch.")
    },
  ]
}
