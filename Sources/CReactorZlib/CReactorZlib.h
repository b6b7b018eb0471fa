// The system's zlib, which decodes gzip and deflate (RFC 1952, RFC 1950, RFC 1951).
#ifndef C_REACTOR_ZLIB_H
#define C_REACTOR_ZLIB_H

// Input that zlib does not change.
#define ZLIB_CONST
#include <zlib.h>

#endif
