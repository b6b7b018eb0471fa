#if SQLite
  import ReactorOutbox

  extension SQLitePersistence {
    /// Releases the locks of the database, and takes none until ``resume()``.
    ///
    /// ```swift
    /// layer.outbox.pause()
    /// storage.suspend()  // before the system suspends the app
    /// ```
    ///
    /// iOS terminates an app that is suspended while it holds a lock in the container of an app
    /// group (`0xdead10cc`). Call the method before that, in time that the system has granted.
    ///
    /// The call blocks while accesses are under way. They take milliseconds; what takes longer than
    /// a second, as a compaction may, is interrupted and fails. If another process holds the
    /// database, it takes up to ten seconds. Cancellation does not stop it. Connections stay open.
    ///
    /// Until ``resume()``, loads, saves and all other accesses throw
    /// ``SQLitePersistenceError/suspended(path:)``. A layer then asks the server, and reports the
    /// failure as an event. Further calls do nothing. Call it from any isolation.
    ///
    /// No access waits for ``resume()``, so a suspended store can be released. That closes its
    /// connections, which takes a lock for a moment: do it before the system suspends the app.
    public func suspend() { database.suspend() }

    /// Continues after ``suspend()``. Never blocks.
    public func resume() { database.resume() }
  }

  extension SQLiteOutboxStorage {
    /// Releases the locks of the database, and takes none until ``resume()``, as
    /// ``SQLitePersistence/suspend()`` does.
    ///
    /// Pause the outbox before. A write that is submitted until ``resume()`` throws
    /// ``SQLitePersistenceError/suspended(path:)``, and so does a form whose files are being
    /// copied: submit it again. The call releases the lock of such a copy, and does not wait for
    /// it, since the disk of a file may not answer. The outcome of a request that is being sent is
    /// saved after ``resume()``, within five seconds.
    public func suspend() {
      database.suspend()
      claims.release()
    }

    /// Continues after ``suspend()``. Never blocks.
    public func resume() { database.resume() }
  }
#endif
