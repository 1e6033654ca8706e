#include "rubato/live/service/past.h"

#include <algorithm>

namespace rubato {

Status Past::catch_up() {
  if (!controller_) {
    auto made = Controller::make(history_.options());
    if (!made) {
      return made.error();
    }
    controller_ = *std::move(made);
  }
  return history_.for_each_input(sequence_, [this](const JournalRecord& record) {
    const Effects effects = controller_->on(record.at, record.input);
    record_.note(record, effects, *controller_);
    first_ = sequence_ == 0 ? record.at : first_;
    last_ = record.at;
    sequence_ = record.sequence;
    keep_mark();
    return ok_status();
  });
}

// When there are too many, every second one goes and new ones come half as often: what is kept does
// not grow with the journal.
void Past::keep_mark() {
  const std::uint64_t since = marks_.empty() ? 0 : marks_.back().sequence;
  if (sequence_ - since < mark_every_) {
    return;
  }
  if (marks_.size() == kMarksMax) {
    for (std::size_t i = 0; i < kMarksMax / 2; ++i) {
      marks_[i] = std::move(marks_[2 * i + 1]);
    }
    marks_.resize(kMarksMax / 2);
    mark_every_ *= 2;
  }
  marks_.push_back({.sequence = sequence_, .at = last_, .bytes = controller_->save()});
}

Status Past::look(const std::function<void(const PastRecord&, const PastMoment&)>& look) {
  const std::lock_guard lock(mutex_);
  if (const Status caught_up = catch_up(); !caught_up) {
    return caught_up;
  }
  look(record_, {.controller = *controller_,
                 .at = last_,
                 .sequence = sequence_,
                 .first = first_,
                 .last = last_});
  return ok_status();
}

Status Past::look_at(Instant moment, const std::function<void(const PastMoment&)>& look) {
  Mark begin;
  Instant first{};
  Instant last{};
  std::uint64_t end = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const Status caught_up = catch_up(); !caught_up) {
      return caught_up;
    }
    first = first_;
    last = last_;
    end = sequence_;
    const auto after = std::ranges::upper_bound(marks_, moment, {}, &Mark::at);
    if (after != marks_.begin()) {
      begin = *std::prev(after);
    }
  }
  auto controller = begin.sequence == 0 ? Controller::make(history_.options())
                                        : Controller::load(history_.options(), begin.bytes);
  if (!controller) {
    return controller.error();
  }
  bool is_there = false;
  const Status read =
      history_.for_each_input(begin.sequence, [&](const JournalRecord& record) -> Status {
        is_there = record.at > moment || record.sequence > end;
        if (is_there) {
          return Error{.message = "the moment is reached"};
        }
        (void)controller->on(record.at, record.input);
        begin.sequence = record.sequence;
        begin.at = record.at;
        return ok_status();
      });
  if (!read && !is_there) {
    return read;
  }
  look({.controller = *controller,
        .at = std::clamp(moment, first, std::max(first, last)),
        .sequence = begin.sequence,
        .first = first,
        .last = last});
  return ok_status();
}

}  // namespace rubato
