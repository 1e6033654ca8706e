// clone(2) for a child that borrows its parent's memory and thread until it calls exec. A plain
// call, except under the thread sanitizer, which takes the child for that of a fork and stops
// looking at it, and so at its parent; and which thinks that the descriptors of both are the same.
#pragma once

#include <sched.h>
#include <sys/types.h>

#if defined(RUBATO_THREAD_SANITIZER)
// Another name of clone, which is not watched, and names of the sanitizer. NOLINTBEGIN
extern "C" {
int __clone(int (*)(void*), void*, int, void*, ...);
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);
void AnnotateIgnoreWritesBegin(const char*, int);
void AnnotateIgnoreWritesEnd(const char*, int);
}
// NOLINTEND
#endif

namespace rubato {

/// Returns when the child has called exec or ended, if the flags say CLONE_VFORK.
inline pid_t borrowing_clone(int (*run)(void*), void* stack, int flags, void* argument,
                             int* pidfd) {
#if defined(RUBATO_THREAD_SANITIZER)
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  const pid_t pid = __clone(run, stack, flags, argument, pidfd);
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  return pid;
#else
  return ::clone(run, stack, flags, argument, pidfd);
#endif
}

}  // namespace rubato
