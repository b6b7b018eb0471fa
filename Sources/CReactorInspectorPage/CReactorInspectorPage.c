#include "CReactorInspectorPage.h"

// C embeds a file in no time. Swift takes seconds to compile the array that SwiftPM's
// `embedInCode` makes of one.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char page[] = {
#embed "inspector.html"
};

const void *reactor_inspector_page(size_t *count) {
  *count = sizeof page;
  return page;
}
