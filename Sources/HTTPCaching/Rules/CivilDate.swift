/// A day of the proleptic Gregorian calendar, as arithmetic: what a calendar of the platform does takes microseconds.
///
/// Source: Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*.
struct CivilDate: Hashable {
  let year: Int
  let month: Int
  let day: Int

  /// `nil` where there is no such day.
  init?(year: Int, month: Int, day: Int) {
    guard (1...12).contains(month), day >= 1, day <= Self.length(of: month, in: year) else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  init(daysSince1970 days: Int64) {
    let shifted = days + 719_468
    let era = shifted.floorDivided(by: 146_097)
    let dayOfEra = Int(shifted - era * 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    // Counted from March.
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + Int(era) * 400 + (month <= 2 ? 1 : 0)
  }

  var daysSince1970: Int64 {
    let shiftedYear = Int64(month <= 2 ? year - 1 : year)
    let era = shiftedYear.floorDivided(by: 400)
    let yearOfEra = Int(shiftedYear - era * 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + Int64(dayOfEra) - 719_468
  }

  private static func length(of month: Int, in year: Int) -> Int {
    guard month != 2 else { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
    return [4, 6, 9, 11].contains(month) ? 30 : 31
  }
}

extension Int64 {
  /// Towards negative infinity.
  func floorDivided(by divisor: Int64) -> Int64 {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? quotient - 1 : quotient
  }
}
