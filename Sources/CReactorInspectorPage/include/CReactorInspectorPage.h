#ifndef CREACTORINSPECTORPAGE_H
#define CREACTORINSPECTORPAGE_H

#include <stddef.h>

/// Returns the bytes of inspector.html, and stores their number in `count`.
const void *reactor_inspector_page(size_t *count);

#endif
