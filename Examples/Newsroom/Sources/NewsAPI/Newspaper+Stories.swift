extension Newspaper {
  struct Story {
    var section: String
    var title: String
    var standfirst: String

    init(_ section: String, _ title: String, _ standfirst: String) {
      self.section = section
      self.title = title
      self.standfirst = standfirst
    }
  }

  static let stories: [Story] = [
    Story(
      "Science", "The lighthouse that learned to listen",
      "On a cliff above the strait, a lamp from 1871 now counts whales by ear."),
    Story(
      "Cities", "A river comes back to the old town",
      "After sixty years under concrete, the Alder runs in daylight again, and the cafés have turned their chairs around."
    ),
    Story(
      "Technology", "Small computers, long memories",
      "A school in the hills runs on machines that its grandparents threw away. It has never lost a file."),
    Story(
      "Culture", "The choir that rehearses on night trains",
      "Forty voices, one sleeping car, and a conductor who is also the conductor."),
    Story(
      "Climate", "What the peat remembers",
      "Cores from a northern bog hold nine thousand summers. Researchers are reading the last hundred twice."),
    Story(
      "Business", "The bakery with no prices",
      "Customers pay what the loaf was worth to them. Three years on, the books balance to the cent."),
    Story(
      "Science", "Mapping the quiet parts of the sky",
      "A new survey looks where there is nothing to see, and finds that nothing has a shape."),
    Story(
      "Sport", "Ninety minutes in the fog",
      "Nobody in the stadium saw the goal. Both keepers agree that it was a good one."),
    Story(
      "Cities", "The last lamplighter trains a successor",
      "Gaslight is cheaper to keep than to mourn, the council decided. Somebody has to know how."),
    Story(
      "Technology", "An index of every staircase",
      "Volunteers measured 41,000 steps, so that a wheelchair's map could be honest."),
    Story(
      "Culture", "A novel found in a seed catalogue",
      "Between the beans and the beetroot, a gardener of 1932 wrote one sentence a day."),
    Story(
      "Climate", "Shade is a public service",
      "In the hottest square of the south, the trees arrived on trailers, and by evening so had everybody else."),
    Story(
      "Business", "Ferries that wait for you",
      "An island line gave up its timetable. Its boats have not been so punctual in decades."),
    Story(
      "Science", "The clockmaker's second pendulum",
      "A physicist repaired an old regulator and found an earthquake that nobody had noticed."),
    Story(
      "Cities", "Who sweeps the snow of the mayor?",
      "A winter's argument about one pavement became the best-attended meeting in years."),
    Story(
      "Technology", "The radio station in a shipping container",
      "It broadcasts to eleven villages, two freighters and, on clear nights, one very patient engineer in Oslo."),
    Story(
      "Sport", "The long run home",
      "She carried the village's post over the pass for thirty years. Last week she did it for a stopwatch."),
    Story(
      "Culture", "Painting by streetcar",
      "Line 6 takes fifty-two minutes. Its driver knows a studio when he sees one."),
    Story(
      "Climate", "Counting butterflies by their shadows",
      "A camera, a white sheet and a hundred volunteers: the cheapest census of the year is also the best."),
    Story(
      "Business", "Repair is the new shop window",
      "On Copper Street, six workshops share one counter, and a queue that starts before eight."),
    Story(
      "Science", "A library of smells",
      "Old paper, new rain, the inside of a violin: chemists are cataloguing what a museum cannot hang."),
    Story(
      "Cities", "The bridge that opens for geese",
      "Twice a year, traffic stops for eleven minutes. Not one driver has complained since the sign went up."),
    Story(
      "Technology", "How to switch off a satellite",
      "It took four people, one telephone and a password that was on a postcard."),
    Story(
      "Culture", "The orchestra plays what the audience hums",
      "No programme, no rehearsal, and a waiting list until spring."),
    Story(
      "Sport", "A chess club on the ferry pier",
      "The games are fast, since the boats are not late any more."),
    Story(
      "Climate", "The harbour that farms its own fog",
      "Nets on the breakwater give forty litres a night. The gardens behind it are the greenest on the coast."),
  ]

  static let staff = [
    Author(
      id: 1, name: "Mara Lindqvist", role: "Science editor",
      biography: "Mara studied geophysics, and came to the paper by way of a lighthouse. She writes about instruments, "
        + "the people who mend them, and what they hear.", articles: []),
    Author(
      id: 2, name: "Tomás Okafor", role: "City reporter",
      biography: "Tomás walks to every story that is less than ten kilometres away. He keeps a list of benches.",
      articles: []),
    Author(
      id: 3, name: "Ines Baumann", role: "Technology correspondent",
      biography: "Ines repaired radios before she wrote about them. She still answers letters by letter.",
      articles: []),
    Author(
      id: 4, name: "Jun Park", role: "Culture critic",
      biography: "Jun plays second violin, badly, in two orchestras, and reviews neither.", articles: []),
    Author(
      id: 5, name: "Amal Haddad", role: "Climate reporter",
      biography: "Amal has been to the same bog every spring for eleven years. It has changed more than she has.",
      articles: []),
  ]

  /// A few hundred words to each story, always the same.
  static func paragraphs(of story: Story, number: Int) -> [String] {
    let opening =
      "\(story.standfirst) That, at least, is how it is told by those who were there. "
      + "What follows took a winter to find out."
    let count = 5 + number % 4
    return [opening] + (0..<count).map { passages[(number * 3 + $0 * 5) % passages.count] }
  }

  private static let passages = [
    "The first thing a visitor notices is how little there is to notice. A door, a bench, a notebook on a string. "
      + "“We wrote everything down,” says the woman who opens, “because none of us expected to remember it.”",
    "It began with a mistake. A delivery went to the wrong address, and by the time anybody asked for it back, it had been "
      + "put to use. The sender, to general surprise, sent a second one.",
    "Numbers help, up to a point. In the first year there were eleven of them; in the second, forty. After that they stopped "
      + "counting, which is the closest thing to success that anybody here admits.",
    "Not everyone is pleased. The neighbours complain of the mornings, which come early, and of the visitors, who stay late. "
      + "But the petition that went around in autumn had, by spring, become a rota.",
    "There is a rule, and it hangs by the door: leave it as you would like to find it. It is followed more often than the law, "
      + "and has never been enforced.",
    "An engineer who asked not to be named puts it this way: “You can measure a thing until it is dead, or you can keep it "
      + "running and take notes.” Her notes fill a shelf.",
    "What it costs is easily told: less than a parking space. What it saves is harder. The town hall tried to work it out, and "
      + "gave the sum to the school as an exercise.",
    "In the evening, when the light goes, the work becomes quieter but does not stop. Somebody makes tea. Somebody else says "
      + "that this was the best part of the day, and says so every day.",
    "The archives have a photograph of the place from a hundred years ago. Take away the cars and the wires, and it could have "
      + "been made this morning. “We are not old-fashioned,” they say. “We are just not finished.”",
    "Asked what comes next, most of them laugh. Plans are for people with money. What they have is a list, in pencil, and the "
      + "first line has been crossed out.",
    "It would be easy to make a lesson of it. They advise against that. The last person who did gave a speech, and it rained.",
    "On the way back the road passes the spot where it started. There is no plaque. A child, asked why not, shrugs. "
      + "“Everybody knows,” she says, and goes home.",
  ]
}
