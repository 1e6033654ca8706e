#include "rubato/cli/process/interrupt_count.h"

namespace rubato {
namespace {

volatile std::sig_atomic_t interrupts_seen = 0;
volatile std::sig_atomic_t ends_seen = 0;

void count_interrupt(int /*signal*/) { interrupts_seen = interrupts_seen + 1; }
void count_end(int /*signal*/) { ends_seen = ends_seen + 1; }

}  // namespace

InterruptCount::InterruptCount() {
  interrupts_seen = 0;
  ends_seen = 0;
  struct sigaction on_interrupt {};
  on_interrupt.sa_handler = count_interrupt;
  struct sigaction on_end {};
  on_end.sa_handler = count_end;
  ::sigaction(SIGINT, &on_interrupt, &before_interrupt_);
  ::sigaction(SIGTERM, &on_end, &before_end_);
  ::sigaction(SIGHUP, &on_end, &before_hangup_);
}

InterruptCount::~InterruptCount() {
  ::sigaction(SIGINT, &before_interrupt_, nullptr);
  ::sigaction(SIGTERM, &before_end_, nullptr);
  ::sigaction(SIGHUP, &before_hangup_, nullptr);
}

int InterruptCount::interrupts() const { return interrupts_seen; }

bool InterruptCount::is_told_to_end() const { return ends_seen > 0; }

}  // namespace rubato
