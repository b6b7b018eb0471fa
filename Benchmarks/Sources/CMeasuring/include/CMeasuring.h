#ifndef CMEASURING_H
#define CMEASURING_H

#include <stdbool.h>
#include <stdint.h>

/// The allocations of all threads while counting was on.
typedef struct {
  uint64_t count;
  /// Bytes of what was allocated, less those of what was freed; as the allocator rounds them.
  int64_t live_bytes;
} measuring_allocations;

/// True if allocations can be counted here: with glibc, whose allocator can be interposed.
bool measuring_counts_allocations(void);
/// Begins at zero.
void measuring_begin(void);
/// Goes on counting.
measuring_allocations measuring_now(void);
measuring_allocations measuring_end(void);

/// Puts every thread of the process on one processor, or on as many as there are; threads made later follow.
/// Returns false where that cannot be done.
bool measuring_use_processors(int count);

/// Reads nothing; but the compiler cannot know that, and so has to make what is there.
void measuring_use(const void *value);

#endif
