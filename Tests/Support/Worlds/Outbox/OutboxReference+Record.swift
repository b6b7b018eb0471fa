import Foundation
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting

extension OutboxReference {
  /// One entry, as everybody knows it.
  struct Record: Sendable {
    let id: UUID
    let errand: Errand
    /// The process that has submitted it.
    let client: Int
    /// Its submission has returned.
    var isOver = false
    /// `submit` has returned.
    var isAcknowledged = false
    /// A process has said so.
    var wasAccepted = false
    /// When a process said so first.
    var acceptedAt: Duration?
    /// The place in the store that was seen last.
    var number: UInt64 = 0
    /// Its submission has failed: it is never stored.
    var isNotSaved = false
    /// It was withdrawn or discarded, or everything was removed; or that is under way.
    var mayBeGone: Bool { isGone || decisions > 0 }
    var isGone = false
    /// The withdrawals and discards that are under way.
    var decisions = 0
    var wasWithdrawn = false
    var wasDiscarded = false
    /// The user has sent it again after its outcome was unresolved, so the server may have
    /// forgotten its key.
    var wasSentInDoubt = false
    /// The end that was said last.
    var end: String?
    /// It was submitted by the process that then removed everything.
    var wasRemoved = false
    /// The copy of its form may stay for a while: its process has crashed, or a file cannot be
    /// removed.
    var mayLeaveCopy = false
    /// A removal of the copy of its form has failed.
    var isStuck = false
  }

  /// An entry, as one process shows it.
  enum Phase: Sendable {
    /// Shown, and perhaps not saved yet.
    case submitting
    case pending
    /// With the errand as its draft has it.
    case accepted(Errand?, at: Duration)
    case gone

    var isShown: Bool {
      switch self {
      case .submitting, .pending: true
      case .accepted, .gone: false
      }
    }
  }

  /// The values that one process shows.
  struct View: Sendable {
    var owner: String
    var begun: Duration
    var process: UUID?
    var phases: [UUID: Phase] = [:]
    /// The accepted entries, in order.
    var accepted: [UUID] = []
    /// The errands as they were when they were first shown.
    var errands: [UUID: Errand] = [:]
    /// The ids that the process has learned since, in order.
    var identities: [(temporary: TemporaryID, id: Int)] = []
    /// Of each path, the accepted drafts that a value had, and the version of that.
    var dropped: [String: (version: Int, ids: Set<UUID>)] = [:]
    /// The entries that another process has ended. Their drafts are shown for a while, or not.
    var uncertain: Set<UUID> = []
    /// The entries that were about to be sent before a pause.
    var prepared: Set<UUID> = []
    /// The entries that were in the lanes when each was sent.
    var known: [UUID: Set<UUID>] = [:]
    /// The last place before each retry that is under way.
    var retries: [Int] = []
    /// The place of each draft among the others.
    var places: [UUID: Int] = [:]
    /// The place of each entry in the store, as the process has read it.
    var numbers: [UUID: UInt64] = [:]
    /// The entries that another process has moved: their drafts move when this one learns that.
    var moved: Set<UUID> = []
    /// The entries of other processes that this one has read, and shows from then on, or does not.
    var found: Set<UUID> = []
    var lastPlace = 1 << 32
    /// Nothing is judged before its outbox is read, nor while everything is being removed.
    var isReady = false
    /// The removals that somebody waits for.
    var removals = 0
    /// The removals that the outbox's store has still to make. They outlive their callers.
    var storeRemovals = 0
    var removalsBegun = 0
    /// When everything was last asked to be removed.
    var removalAsked = Duration.zero
    /// The entries that were read from the store while everything was being removed.
    var foundInRemoval: Set<UUID> = []
    /// A record or everything was to be removed, and some of it was not: what is shown then is
    /// unknown, as an older record may be on disk still.
    var hasFailedToRemove = false
    var isPaused = false
    /// The entries that a user of the process is discarding.
    var discarding: Set<UUID> = []
    /// The paths of which a save has failed. The value may be on disk all the same, and the layer
    /// does not know that it has the accepted drafts.
    var failedSaves: Set<String> = []

    func isAccepted(_ id: UUID) -> Bool { if case .accepted = phases[id] { true } else { false } }

    /// Puts an entry behind the entries that were accepted before.
    mutating func accept(_ id: UUID) {
      accepted.removeAll { $0 == id }
      accepted.append(id)
    }
  }
}
