#include "rubato/launch/process/watch.h"

#include "rubato/launch/process/process_scene_test.h"

namespace rubato {
namespace {

bool is_readable(int descriptor) {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) == 1;
}

TEST(Watch, IsReadableWhileOneOfItsDescriptorsIs) {
  auto watch = Watch::open();
  ASSERT_TRUE(watch.ok());
  TestPipe pipe;
  watch->add(pipe.read_end.get());
  EXPECT_FALSE(is_readable(watch->descriptor()));

  ASSERT_EQ(::write(pipe.write_end.get(), "x", 1), 1);

  EXPECT_TRUE(is_readable(watch->descriptor()));
  watch->remove(pipe.read_end.get());
  EXPECT_FALSE(is_readable(watch->descriptor()));
}

TEST(Watch, WaitsForRoomToWriteAsWell) {
  auto watch = Watch::open();
  TestPipe pipe;

  watch->add_writable(pipe.write_end.get());

  EXPECT_TRUE(is_readable(watch->descriptor()));
  pipe.write_end = Descriptor();
  EXPECT_FALSE(is_readable(watch->descriptor())) << "what is closed leaves";
}

TEST(Watch, GoesOffWhenTheTimeHasCome) {
  auto watch = Watch::open();

  watch->wake_in(std::chrono::hours{10});
  EXPECT_FALSE(is_readable(watch->descriptor()));
  watch->wake_in(std::chrono::nanoseconds{0});
  wait_readable(watch->descriptor());
  watch->hush();

  EXPECT_FALSE(is_readable(watch->descriptor()));
}

}  // namespace
}  // namespace rubato
