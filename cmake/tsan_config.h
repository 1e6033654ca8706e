// Comes before every source under the thread sanitizer.
//
// The standard library looks for the compiler's macro to leave out what the sanitizer does not
// follow. The headers of protobuf lay messages out by it, and Debian's library was built without.
// So it is there for the former alone, and our own sources have their own.
#pragma once

#include <cstddef>

#undef __SANITIZE_THREAD__
#define RUBATO_THREAD_SANITIZER 1
