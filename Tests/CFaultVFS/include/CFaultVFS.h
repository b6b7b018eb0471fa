#ifndef C_FAULT_VFS_H
#define C_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

// A VFS for SQLite, over the system's, whose calls fail when told to. It acts on files below one directory alone, and on
// those only while it is armed; everything else passes through.

// The error of a failing call: ENOSPC, EIO, EACCES. SQLite's own VFS has another word for a read's
// EIO, of which SQLite makes
// SQLITE_CORRUPT: that is for FAULT_VFS_BAD_READ.
typedef enum {
  FAULT_VFS_FULL,
  FAULT_VFS_IO,
  FAULT_VFS_DENIED,
  FAULT_VFS_BAD_READ,
  FAULT_VFS_POWER_CUT
} fault_vfs_kind;

// Makes it the VFS of every connection that is opened from now on; false without SQLite. To be called once or more.
bool fault_vfs_register(void);

// Begins to count calls on files below `directory`, which is there, at 1. The `at`-th fails (none, with 0), and those after it where
// `persists`. A power cut persists. Nothing is synchronised in earnest; what would have been is remembered.
void fault_vfs_arm(const char *directory, fault_vfs_kind kind, int64_t at, bool persists);

// Calls since it was armed.
int64_t fault_vfs_count(void);

// The name of the call that failed first, or "".
const char *fault_vfs_failed(void);

// Ends all that: no call is counted or fails.
void fault_vfs_disarm(void);

// Gives each file that was opened since it was armed what a disk may hold after a power cut, and disarms. Each sector of
// 512 bytes is as it was synchronised last, or as it was written last; so is the length; a name that was not synchronised
// may be missing, or be there again. What is still open fails for good.
void fault_vfs_cut_power(uint64_t seed);

#endif
