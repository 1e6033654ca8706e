#include "rubato/runtime/group/group_inbox.h"

namespace rubato {

void GroupInbox::publish(GenerationPost post) {
  const std::scoped_lock lock(mutex_);
  if (post.number <= newest_) {
    return;
  }
  newest_ = post.number;
  newest_forced_ = post.is_forced ? post.number : newest_forced_;
  // A skipped generation may have carried arenas that the next one counts on.
  if (posted_) {
    for (ArenaPost& arena : posted_->arenas) {
      post.arenas.push_back(std::move(arena));
    }
  }
  const bool is_pointless = post.is_forced || is_entering_;
  posted_ = std::move(post);
  if (used_.communicator != nullptr && is_pointless) {
    used_.communicator->abort();
  }
  if (built_ && built_->communicator != nullptr && built_->number != used_.number) {
    built_->communicator->abort();
  }
  changed_.notify_all();
}

void GroupInbox::end(InboxEnd end) {
  const std::scoped_lock lock(mutex_);
  if (!end_) {
    end_ = end;
  }
  if (used_.communicator != nullptr) {
    used_.communicator->abort();
  }
  changed_.notify_all();
}

std::optional<GenerationPost> GroupInbox::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return posted_.has_value() || end_.has_value(); });
  if (end_) {
    return std::nullopt;
  }
  return std::exchange(posted_, std::nullopt);
}

void GroupInbox::built(BuiltGroup group) {
  const std::scoped_lock lock(mutex_);
  if (group.number < newest_) {
    return;
  }
  built_ = std::move(group);
  changed_.notify_all();
}

std::variant<BuiltGroup, InboxEnd> GroupInbox::wait(std::uint64_t newer_than,
                                                    std::uint64_t forced_beyond) {
  std::unique_lock lock(mutex_);
  const auto is_there = [&] {
    return built_ && built_->number > newer_than && built_->number == newest_ &&
           (forced_beyond == 0 || newest_forced_ > forced_beyond);
  };
  changed_.wait(lock, [&] { return is_there() || end_.has_value(); });
  if (end_) {
    return *end_;
  }
  return *built_;
}

std::uint64_t GroupInbox::votable() {
  const std::scoped_lock lock(mutex_);
  const bool is_newer = built_ && built_->number == newest_ && built_->number > used_.number;
  return is_newer ? built_->number : 0;
}

bool GroupInbox::has_newer_than(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  return newest_ > number;
}

bool GroupInbox::has_forced_beyond(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  return newest_forced_ > number;
}

std::optional<InboxEnd> GroupInbox::ended() {
  const std::scoped_lock lock(mutex_);
  return end_;
}

bool GroupInbox::begin_entering(const BuiltGroup& group) {
  const std::scoped_lock lock(mutex_);
  if (newest_ > group.number || end_) {
    return false;
  }
  used_ = group;
  is_entering_ = true;
  return true;
}

bool GroupInbox::begin_training(const BuiltGroup& group) {
  const std::scoped_lock lock(mutex_);
  is_entering_ = false;
  return newest_forced_ <= group.number && !end_;
}

void GroupInbox::leave() {
  const std::scoped_lock lock(mutex_);
  used_.communicator.reset();
  is_entering_ = false;
}

}  // namespace rubato
