#include "CFaultVFS.h"

#if __has_include(<sqlite3.h>)
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECTOR = 512, DISK_FILES = 64 };

// A file as the disk has it for certain.
typedef struct {
  char *path;
  unsigned char *bytes;
  int64_t size;
  bool named;  // A directory that was synchronised holds its name.
  // One of the same name that was deleted, if no directory was synchronised since: it may be there again, and then whole.
  bool had_other;
  unsigned char *other;
  int64_t other_size;
} disk_file;

typedef struct {
  sqlite3_file base;
  disk_file *disk;         // NULL where nothing is to be done.
  int64_t arming;          // When that was.
  bool syncs_directory;    // As SQLite's own VFS does with a file's first synchronisation.
  sqlite3_file *real;
} fault_file;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sqlite3_vfs *system_vfs;
static sqlite3_vfs fault_vfs;
// All below is guarded by the lock.
static char *armed;
static fault_vfs_kind kind;
static int64_t count, failing, arming;
static bool persists, is_cut;
static const char *failed = "";
static disk_file disk[DISK_FILES];
static int disk_count;
// The last arming that ended with a power cut, and what its files are on since: nothing.
static int64_t dead;
static disk_file grave;

static bool is_armed(const char *path) {
  return armed && path && strncmp(path, armed, strlen(armed)) == 0;
}

// Returns the code that the call must return instead of being made, or SQLITE_OK.
static int fault(const disk_file *on, const char *call, int code) {
  if (!on) return SQLITE_OK;
  if (on == &grave) {
    errno = EIO;
    return code;
  }
  pthread_mutex_lock(&lock);
  bool fails = false;
  if (armed) {
    count += 1;
    fails = failing > 0 && (count == failing || (persists && count > failing));
    if (fails && !*failed) failed = call;
    if (fails && kind == FAULT_VFS_POWER_CUT) is_cut = true;
  }
  // A file that is closed after a power cut must not be written any more.
  fails = fails || is_cut;
  pthread_mutex_unlock(&lock);
  // SQLite asks for it afterwards.
  if (fails) errno = kind == FAULT_VFS_FULL ? ENOSPC : kind == FAULT_VFS_DENIED ? EACCES : EIO;
  return fails ? code : SQLITE_OK;
}

static int read_whole(const char *path, unsigned char **bytes, int64_t *size) {
  *bytes = NULL;
  *size = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  fseek(file, 0, SEEK_END);
  *size = ftell(file);
  rewind(file);
  *bytes = malloc((size_t)*size + 1);
  *size = (int64_t)fread(*bytes, 1, (size_t)*size, file);
  fclose(file);
  return 1;
}

static disk_file *disk_of(const char *path) {
  for (int i = 0; i < disk_count; i++)
    if (strcmp(disk[i].path, path) == 0) return &disk[i];
  if (disk_count == DISK_FILES) return NULL;
  disk_file *file = &disk[disk_count++];
  *file = (disk_file){.path = strdup(path)};
  // The existing bytes were there when the machine was started.
  file->named = read_whole(path, &file->bytes, &file->size) != 0 && file->size > 0;
  return file;
}

// Makes durable which names there are; all files are of one directory.
static void sync_directory(void) {
  for (int i = 0; i < disk_count; i++) {
    free(disk[i].other);
    disk[i].other = NULL;
    disk[i].had_other = false;
    disk[i].named = access(disk[i].path, F_OK) == 0;
    if (disk[i].named) continue;
    free(disk[i].bytes);
    disk[i].bytes = NULL;
    disk[i].size = 0;
  }
}

// A file that comes later under this name is another, with nothing of this one's in it.
static void deleted(disk_file *on) {
  if (on->named && !on->had_other) {
    on->other = on->bytes;
    on->other_size = on->size;
    on->had_other = true;
  } else {
    free(on->bytes);
  }
  on->bytes = NULL;
  on->size = 0;
  on->named = false;
}

// MARK: Files

#define REAL(file) (((fault_file *)(file))->real)
#define DISK(file) disk_of_file((fault_file *)(file))

// NULL for one that is left from an earlier arming; but a program does not outlive a power cut: whoever closes it late must not write.
static disk_file *disk_of_file(const fault_file *file) {
  pthread_mutex_lock(&lock);
  disk_file *on = armed && file->arming == arming ? file->disk : NULL;
  if (!on && file->disk && file->arming <= dead) on = &grave;
  pthread_mutex_unlock(&lock);
  return on;
}

static int file_close(sqlite3_file *file) { return REAL(file)->pMethods->xClose(REAL(file)); }

static int file_read(sqlite3_file *file, void *to, int size, sqlite3_int64 offset) {
  int code = fault(DISK(file), "read", kind == FAULT_VFS_BAD_READ ? SQLITE_IOERR_CORRUPTFS : SQLITE_IOERR_READ);
  return code ? code : REAL(file)->pMethods->xRead(REAL(file), to, size, offset);
}

static int file_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 offset) {
  disk_file *on = DISK(file);
  bool was_cut = is_cut || on == &grave;
  int code = fault(on, "write", kind == FAULT_VFS_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE);
  // The first part of what was to be written may be.
  if (code && (was_cut || size < 2)) return code;
  int result = REAL(file)->pMethods->xWrite(REAL(file), from, code ? size / 2 : size, offset);
  return code ? code : result;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
  int code = fault(DISK(file), "truncate", SQLITE_IOERR_TRUNCATE);
  return code ? code : REAL(file)->pMethods->xTruncate(REAL(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
  disk_file *on = DISK(file);
  int code = fault(on, "sync", SQLITE_IOERR_FSYNC);
  if (code || !on) return code ? code : REAL(file)->pMethods->xSync(REAL(file), flags);
  pthread_mutex_lock(&lock);
  free(on->bytes);
  read_whole(on->path, &on->bytes, &on->size);
  if (((fault_file *)file)->syncs_directory) sync_directory();
  ((fault_file *)file)->syncs_directory = false;
  pthread_mutex_unlock(&lock);
  return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
  int code = fault(DISK(file), "size", SQLITE_IOERR_FSTAT);
  return code ? code : REAL(file)->pMethods->xFileSize(REAL(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
  // One that were denied for good would be waited for.
  int code = fault(DISK(file), "lock", kind == FAULT_VFS_DENIED && !persists ? SQLITE_BUSY : SQLITE_IOERR_LOCK);
  return code ? code : REAL(file)->pMethods->xLock(REAL(file), level);
}

static int file_unlock(sqlite3_file *file, int level) { return REAL(file)->pMethods->xUnlock(REAL(file), level); }

static int file_reserved(sqlite3_file *file, int *result) {
  return REAL(file)->pMethods->xCheckReservedLock(REAL(file), result);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
  return REAL(file)->pMethods->xFileControl(REAL(file), operation, argument);
}

static int file_sector(sqlite3_file *file) { return REAL(file)->pMethods->xSectorSize(REAL(file)); }

static int file_device(sqlite3_file *file) { return REAL(file)->pMethods->xDeviceCharacteristics(REAL(file)); }

static int file_map(sqlite3_file *file, int page, int size, int extends, void volatile **to) {
  static const int codes[] = {
    SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMMAP, SQLITE_CANTOPEN, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMMAP};
  *to = NULL;
  int code = fault(DISK(file), "map", codes[kind]);
  return code ? code : REAL(file)->pMethods->xShmMap(REAL(file), page, size, extends, to);
}

static int file_map_lock(sqlite3_file *file, int offset, int size, int flags) {
  return REAL(file)->pMethods->xShmLock(REAL(file), offset, size, flags);
}

static void file_barrier(sqlite3_file *file) { REAL(file)->pMethods->xShmBarrier(REAL(file)); }

static int file_unmap(sqlite3_file *file, int removes) {
  return REAL(file)->pMethods->xShmUnmap(REAL(file), removes);
}

// Version 2: without memory mapping, which would read past this.
static const sqlite3_io_methods methods = {
  2, file_close, file_read, file_write, file_truncate, file_sync, file_size, file_lock, file_unlock, file_reserved,
  file_control, file_sector, file_device, file_map, file_map_lock, file_barrier, file_unmap, NULL, NULL,
};

// MARK: The VFS

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out) {
  fault_file *opened = (fault_file *)file;
  *opened = (fault_file){.real = (sqlite3_file *)(opened + 1)};
  pthread_mutex_lock(&lock);
  opened->arming = arming;
  if (is_armed(path)) opened->disk = disk_of(path);
  pthread_mutex_unlock(&lock);
  int names = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
  opened->syncs_directory = (flags & SQLITE_OPEN_CREATE) && (flags & names);
  int code = fault(opened->disk, "open", SQLITE_CANTOPEN);
  if (!code) code = system_vfs->xOpen(system_vfs, path, opened->real, flags, out);
  if (!code) opened->base.pMethods = &methods;
  return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
  pthread_mutex_lock(&lock);
  disk_file *on = is_armed(path) ? disk_of(path) : NULL;
  pthread_mutex_unlock(&lock);
  int code = fault(on, "delete", SQLITE_IOERR_DELETE);
  if (!code) code = system_vfs->xDelete(system_vfs, path, on ? 0 : syncs);
  if (code || !on) return code;
  pthread_mutex_lock(&lock);
  deleted(on);
  if (syncs) sync_directory();
  pthread_mutex_unlock(&lock);
  return code;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
  pthread_mutex_lock(&lock);
  disk_file *on = is_armed(path) ? disk_of(path) : NULL;
  pthread_mutex_unlock(&lock);
  *result = 0;
  int code = fault(on, "access", SQLITE_IOERR_ACCESS);
  return code ? code : system_vfs->xAccess(system_vfs, path, flags, result);
}

bool fault_vfs_register(void) {
  pthread_mutex_lock(&lock);
  if (!system_vfs && (system_vfs = sqlite3_vfs_find(NULL))) {
    // The rest is the system's own, which works on no file.
    fault_vfs = *system_vfs;
    fault_vfs.zName = "fault";
    fault_vfs.pNext = NULL;
    fault_vfs.szOsFile = (int)sizeof(fault_file) + system_vfs->szOsFile;
    fault_vfs.xOpen = vfs_open;
    fault_vfs.xDelete = vfs_delete;
    fault_vfs.xAccess = vfs_access;
    if (sqlite3_vfs_register(&fault_vfs, 1) != SQLITE_OK) system_vfs = NULL;
  }
  pthread_mutex_unlock(&lock);
  return system_vfs != NULL;
}

// MARK: The test's side

static void disarm(void) {
  free(armed);
  armed = NULL;
  is_cut = false;
  for (int i = 0; i < disk_count; i++) {
    free(disk[i].path);
    free(disk[i].bytes);
    free(disk[i].other);
  }
  disk_count = 0;
}

void fault_vfs_arm(const char *directory, fault_vfs_kind new_kind, int64_t at, bool for_good) {
  pthread_mutex_lock(&lock);
  disarm();
  // SQLite resolves links.
  armed = realpath(directory, NULL);
  kind = new_kind;
  arming += 1;
  count = 0;
  failing = at;
  persists = for_good || new_kind == FAULT_VFS_POWER_CUT;
  failed = "";
  pthread_mutex_unlock(&lock);
}

void fault_vfs_disarm(void) {
  pthread_mutex_lock(&lock);
  disarm();
  pthread_mutex_unlock(&lock);
}

int64_t fault_vfs_count(void) {
  pthread_mutex_lock(&lock);
  int64_t result = count;
  pthread_mutex_unlock(&lock);
  return result;
}

const char *fault_vfs_failed(void) { return failed; }

static uint64_t next(uint64_t *state) {
  uint64_t bits = *state += 0x9E3779B97F4A7C15u;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return bits ^ (bits >> 31);
}

static void write_whole(const char *path, const unsigned char *bytes, int64_t size) {
  FILE *file = fopen(path, "wb");
  if (!file) return;
  fwrite(bytes, 1, (size_t)size, file);
  fclose(file);
}

static void cut(disk_file *on, uint64_t *state) {
  if (on->had_other && next(state) % 2) return write_whole(on->path, on->other, on->other_size);
  unsigned char *written;
  int64_t size;
  bool is_there = read_whole(on->path, &written, &size) != 0;
  bool keeps_new_name = is_there == on->named || next(state) % 2;
  bool stays = keeps_new_name ? is_there : on->named;
  if (!stays) {
    unlink(on->path);
    free(written);
    return;
  }
  // Mostly some of both; at times nothing that was not synchronised, at times all.
  uint64_t mood = next(state) % 4;
  int64_t length = mood == 0 ? on->size : mood == 1 ? size : next(state) % 2 ? on->size : size;
  if (mood > 1 && next(state) % 2 && on->size != size) {
    int64_t low = on->size < size ? on->size : size, high = on->size < size ? size : on->size;
    length = low + (int64_t)(next(state) % (uint64_t)(high - low + 1));
  }
  FILE *file = fopen(on->path, "wb");
  for (int64_t offset = 0; file && offset < length; offset += SECTOR) {
    static const unsigned char zeros[SECTOR];
    bool is_new = mood == 1 || (mood > 1 && next(state) % 2);
    const unsigned char *from = is_new ? written : on->bytes;
    int64_t end = is_new ? size : on->size;
    int64_t wanted = length - offset < SECTOR ? length - offset : SECTOR;
    int64_t there = offset < end ? (end - offset < wanted ? end - offset : wanted) : 0;
    if (there) fwrite(from + offset, 1, (size_t)there, file);
    fwrite(zeros, 1, (size_t)(wanted - there), file);
  }
  if (file) fclose(file);
  free(written);
}

void fault_vfs_cut_power(uint64_t seed) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < disk_count; i++) cut(&disk[i], &seed);
  dead = arming;
  disarm();
  pthread_mutex_unlock(&lock);
}

#else

bool fault_vfs_register(void) { return false; }
void fault_vfs_arm(const char *directory, fault_vfs_kind kind, int64_t at, bool persists) {}
int64_t fault_vfs_count(void) { return 0; }
const char *fault_vfs_failed(void) { return ""; }
void fault_vfs_disarm(void) {}
void fault_vfs_cut_power(uint64_t seed) {}

#endif
