#define _GNU_SOURCE
#include "CMeasuring.h"

#if defined(__linux__)

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

bool measuring_use_processors(int count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  for (long index = 0; index < online && index < count; index += 1) CPU_SET(index, &set);
  DIR *threads = opendir("/proc/self/task");
  if (!threads) return false;
  bool is_done = true;
  for (struct dirent *entry = readdir(threads); entry; entry = readdir(threads)) {
    int thread = atoi(entry->d_name);
    if (thread > 0 && sched_setaffinity(thread, sizeof set, &set) != 0) is_done = false;
  }
  closedir(threads);
  return is_done;
}

#else

bool measuring_use_processors(int count) {
  (void)count;
  return false;
}

#endif

void measuring_use(const void *value) { (void)value; }
