#include "CMeasuring.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__GLIBC__)

#include <malloc.h>
#include <stdatomic.h>

// glibc's own, under the names that it keeps for whoever replaces the others.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static atomic_bool is_counting;
static atomic_uint_least64_t count;
static atomic_int_least64_t live_bytes;

static inline bool counts(void) { return atomic_load_explicit(&is_counting, memory_order_relaxed); }

static inline void *allocated(void *block) {
  if (counts() && block) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&live_bytes, (int64_t)malloc_usable_size(block), memory_order_relaxed);
  }
  return block;
}

static inline void freed(void *block) {
  if (counts() && block) {
    atomic_fetch_sub_explicit(&live_bytes, (int64_t)malloc_usable_size(block), memory_order_relaxed);
  }
}

void *malloc(size_t size) { return allocated(__libc_malloc(size)); }

void *calloc(size_t number, size_t size) { return allocated(__libc_calloc(number, size)); }

void *realloc(void *block, size_t size) {
  freed(block);
  return allocated(__libc_realloc(block, size));
}

void *memalign(size_t alignment, size_t size) { return allocated(__libc_memalign(alignment, size)); }

void *aligned_alloc(size_t alignment, size_t size) { return allocated(__libc_memalign(alignment, size)); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void *made = __libc_memalign(alignment, size);
  if (!made) return ENOMEM;
  *block = allocated(made);
  return 0;
}

void free(void *block) {
  freed(block);
  __libc_free(block);
}

bool measuring_counts_allocations(void) { return true; }

void measuring_begin(void) {
  atomic_store(&count, 0);
  atomic_store(&live_bytes, 0);
  atomic_store(&is_counting, true);
}

measuring_allocations measuring_now(void) {
  return (measuring_allocations){atomic_load(&count), atomic_load(&live_bytes)};
}

measuring_allocations measuring_end(void) {
  atomic_store(&is_counting, false);
  return (measuring_allocations){atomic_load(&count), atomic_load(&live_bytes)};
}

#else

bool measuring_counts_allocations(void) { return false; }
void measuring_begin(void) {}
measuring_allocations measuring_now(void) { return (measuring_allocations){0, 0}; }
measuring_allocations measuring_end(void) { return (measuring_allocations){0, 0}; }

#endif
