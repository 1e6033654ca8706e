#include "rubato/launch/exit_cause.h"

#include <csignal>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rubato {
namespace {

ExitCause exited(int code, std::string_view tail = "", const ExitEvidence& evidence = {}) {
  return exit_cause({.code = code}, tail, evidence);
}

ExitCause signalled(int signal, std::string_view tail = "", const ExitEvidence& evidence = {}) {
  return exit_cause({.signal = signal}, tail, evidence);
}

constexpr std::string_view kTracebackTail =
    "epoch 1\n"
    "Traceback (most recent call last):\n"
    "  File \"load.py\", line 3, in load\n"
    "KeyError: 'a'\n"
    "\n"
    "During handling of the above exception, another exception occurred:\n"
    "\n"
    "Traceback (most recent call last):\n"
    "  File \"train.py\", line 9, in <module>\n"
    "    load()\n"
    "    ^^^^^^\n"
    "ValueError: no such file\n"
    "and a second line of its message\n";

TEST(ExitCause, CodeZeroIsFinishedWhateverWasSaid) {
  EXPECT_EQ(exited(0, kTracebackTail).kind, ExitKind::Finished);
  EXPECT_EQ(describe(exited(0)), "finished");
}

TEST(ExitCause, AUserErrorNamesTheLastException) {
  const ExitCause cause = exited(1, kTracebackTail);

  EXPECT_EQ(cause.kind, ExitKind::UserError);
  EXPECT_EQ(describe(cause), "user error (exit code 1): ValueError: no such file");
}

TEST(ExitCause, WithoutATracebackTheLastWordsSpeak) {
  EXPECT_EQ(exited(2, "start\nusage: train.py [-h]\n\n").detail, "usage: train.py [-h]");
  EXPECT_EQ(
      exited(1, "  File \"x.py\", line 3\n    f(\n     ^\nSyntaxError: never closed\n").detail,
      "SyntaxError: never closed");
  EXPECT_EQ(describe(exited(3)), "user error (exit code 3)");
  EXPECT_EQ(exited(1, "Traceback (most recent call last):\n  File").detail, "  File");
}

TEST(ExitCause, SeventyFiveAsksToBeStartedAgain) {
  EXPECT_EQ(exited(kExitRequeue, kTracebackTail).kind, ExitKind::Requeue);
  EXPECT_EQ(exited(kExitRequeue, "", {.signals_sent = {SIGTERM}}).kind, ExitKind::Requeue);
}

TEST(ExitCause, RecognisesEveryWayOfRunningOutOfMemory) {
  const std::string traceback = "Traceback (most recent call last):\n  File\n";

  EXPECT_EQ(signalled(SIGKILL, "", {.oom_kills = 1}).kind, ExitKind::OutOfMemory);
  EXPECT_EQ(exited(137, "", {.oom_kills = 1}).kind, ExitKind::OutOfMemory);
  EXPECT_EQ(exited(137, "step 3\nrun.sh: line 4: 77 Killed\n").kind, ExitKind::OutOfMemory);
  EXPECT_EQ(exited(1, traceback + "MemoryError\n").kind, ExitKind::OutOfMemory);
  EXPECT_EQ(exited(1, traceback + "RuntimeError: DefaultCPUAllocator: can't allocate memory: you "
                                  "tried to allocate 8 bytes.\n")
                .kind,
            ExitKind::OutOfMemory);
  EXPECT_EQ(exited(1, traceback + "torch.cuda.OutOfMemoryError: CUDA out of memory.\n").kind,
            ExitKind::OutOfMemory);
  EXPECT_EQ(signalled(SIGABRT,
                      "terminate called after throwing an instance of 'std::bad_alloc'\n"
                      "  what():  std::bad_alloc\n")
                .kind,
            ExitKind::OutOfMemory);
}

TEST(ExitCause, DoesNotBlameMemoryForWordsInPassing) {
  EXPECT_EQ(signalled(SIGKILL, "Killed\n").kind, ExitKind::Signal)
      << "a worker's own words say nothing about who killed it";
  EXPECT_EQ(exited(1, "caught a MemoryError, smaller batch\n" + std::string(kTracebackTail)).kind,
            ExitKind::UserError);
  EXPECT_EQ(signalled(SIGABRT, "an assertion failed\n").kind, ExitKind::Signal);
  EXPECT_EQ(signalled(SIGSEGV, "", {.oom_kills = 1}).kind, ExitKind::Signal);
}

TEST(ExitCause, NamesTheSignal) {
  EXPECT_EQ(describe(signalled(SIGSEGV)), "ended by a signal: SIGSEGV");
  EXPECT_EQ(signalled(SIGKILL).detail, "SIGKILL");
  EXPECT_EQ(exited(139).detail, "SIGSEGV") << "a shell passed it on";
  EXPECT_EQ(signal_name(99), "signal 99");
}

TEST(ExitCause, OurOwnSignalsAreNobodysFault) {
  EXPECT_EQ(signalled(SIGTERM, "", {.signals_sent = {SIGTERM}}).kind, ExitKind::KilledByUs);
  EXPECT_EQ(exited(143, "", {.signals_sent = {SIGTERM}}).kind, ExitKind::KilledByUs);
  EXPECT_EQ(signalled(SIGKILL, "", {.signals_sent = {SIGTERM, SIGKILL}, .oom_kills = 1}).kind,
            ExitKind::KilledByUs);
  EXPECT_EQ(signalled(SIGSEGV, "", {.signals_sent = {SIGTERM}}).kind, ExitKind::Signal);
  EXPECT_EQ(exited(1, kTracebackTail, {.signals_sent = {SIGTERM}}).kind, ExitKind::UserError);
}

TEST(ExitCause, WhatIsLostIsLost) {
  const ExitCause cause = exited(1, kTracebackTail, {.lost = "node 3 does not answer"});

  EXPECT_EQ(cause.kind, ExitKind::Lost);
  EXPECT_EQ(describe(cause), "lost: node 3 does not answer");
}

TEST(ExitCause, HasAWordForPrograms) {
  EXPECT_EQ(exit_word(ExitKind::UserError), "user_error");
  EXPECT_EQ(exit_word(ExitKind::OutOfMemory), "out_of_memory");
}

TEST(ExitCause, IsTheCodeAShellWouldSee) {
  EXPECT_EQ(shell_code({.code = 3}), 3);
  EXPECT_EQ(shell_code({.signal = SIGKILL}), 137);
}

RC_GTEST_PROP(ExitCause, TakesAnyBytesForATail, (std::string tail, int code)) {
  const ExitCause cause = exited(code & 0xff, tail);

  RC_ASSERT((cause.kind == ExitKind::Finished) == ((code & 0xff) == 0));
  RC_ASSERT(cause.detail.find('\n') == std::string::npos);
}

}  // namespace
}  // namespace rubato
