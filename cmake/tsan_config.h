// Comes before every source under the thread sanitizer.
//
// The standard library looks for this macro to leave out what the sanitizer does not follow. The
// headers of protobuf lay messages out by it, and Debian's library was built without.
#pragma once

#include <cstddef>

#undef __SANITIZE_THREAD__
