#include "rubato/wire/unix_channel.h"

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace rubato {
namespace {

std::pair<UnixChannel, UnixChannel> connected() {
  std::array<int, 2> sockets{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  return {UnixChannel(Descriptor(sockets[0])), UnixChannel(Descriptor(sockets[1]))};
}

TEST(UnixChannel, HandsOutFramesInTheOrderTheyWereSent) {
  auto [here, there] = connected();

  ASSERT_TRUE(here.send("first").ok());
  ASSERT_TRUE(here.send("").ok());
  ASSERT_TRUE(here.send("third").ok());
  const auto frames = there.receive();

  ASSERT_TRUE(frames.ok());
  ASSERT_EQ(frames->size(), 3U);
  EXPECT_EQ((*frames)[0].bytes, "first");
  EXPECT_EQ((*frames)[1].bytes, "");
  EXPECT_EQ((*frames)[2].bytes, "third");
}

TEST(UnixChannel, KeepsDescriptorsWithTheirFrame) {
  auto [here, there] = connected();
  const Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::write(file.get(), "abc", 3), 3);

  ASSERT_TRUE(here.send("none").ok());
  ASSERT_TRUE(here.send("two", {file.get(), file.get()}).ok());
  ASSERT_TRUE(here.send("one", {file.get()}).ok());
  const auto frames = there.receive();

  ASSERT_TRUE(frames.ok());
  ASSERT_EQ(frames->size(), 3U);
  EXPECT_EQ((*frames)[0].descriptors.size(), 0U);
  EXPECT_EQ((*frames)[1].descriptors.size(), 2U);
  ASSERT_EQ((*frames)[2].descriptors.size(), 1U);
  std::array<char, 3> read{};
  EXPECT_EQ(::pread((*frames)[2].descriptors[0].get(), read.data(), 3, 0), 3);
  EXPECT_EQ(std::string_view(read.data(), 3), "abc");
}

TEST(UnixChannel, SaysWhenTheOtherEndDoesNotRead) {
  auto [here, there] = connected();
  while (here.has_room()) {
    ASSERT_TRUE(here.send("unread").ok());
  }

  ASSERT_TRUE(here.send("what matters still finds a place").ok());
  ASSERT_TRUE(there.receive().ok());

  EXPECT_TRUE(here.has_room());
}

TEST(UnixChannel, CarriesAFrameLargerThanTheKernelsBuffer) {
  auto [here, there] = connected();
  const std::string large(std::size_t{5} << 20U, 'x');

  std::jthread sender([&, &from = here] { EXPECT_TRUE(from.send(large).ok()); });
  std::vector<Frame> got;
  while (got.empty()) {
    auto frames = there.receive();
    ASSERT_TRUE(frames.ok());
    got = std::move(*frames);
  }

  EXPECT_EQ(got.front().bytes, large);
}

TEST(UnixChannel, HandsOutWhatWasSentBeforeTheEndWasClosed) {
  auto [here, there] = connected();
  {
    const UnixChannel gone = std::move(here);
    ASSERT_TRUE(const_cast<UnixChannel&>(gone).send("last words").ok());
  }

  const auto frames = there.receive();
  const auto after = there.receive();

  ASSERT_TRUE(frames.ok());
  EXPECT_EQ(frames->front().bytes, "last words");
  EXPECT_FALSE(after.ok());
  EXPECT_FALSE(there.send("nobody listens").ok()) << "and no signal was raised";
}

TEST(UnixChannel, RefusesAFrameThatClaimsToBeEndless) {
  auto [here, there] = connected();
  const std::array<std::uint32_t, 2> head{0xffffffffU, 0U};
  ASSERT_EQ(::write(here.descriptor(), head.data(), sizeof(head)), 8);

  const auto frames = there.receive();

  ASSERT_FALSE(frames.ok());
  EXPECT_NE(frames.error().message.find("4294967295"), std::string::npos);
}

TEST(UnixListener, TakesConnectionsAndRemovesItsPath) {
  const std::string path = testing::TempDir() + "unix_listener_test." + std::to_string(::getpid());
  {
    auto listener = UnixListener::open(path);
    ASSERT_TRUE(listener.ok()) << listener.error().message;
    EXPECT_TRUE(listener->accept()->empty());

    auto caller = UnixChannel::connect(path);
    ASSERT_TRUE(caller.ok());
    auto taken = listener->accept();

    ASSERT_EQ(taken->size(), 1U);
    ASSERT_TRUE(caller->send("hello").ok());
    EXPECT_EQ(taken->front().receive()->front().bytes, "hello");
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_FALSE(UnixChannel::connect(path).ok());
}

TEST(UnixListener, ListensWhereAKilledOneHasLeftItsSocket) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("rubato-left-" + std::to_string(::getpid()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  {
    const Descriptor left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }

  const auto listener = UnixListener::open(path);

  ASSERT_TRUE(listener.ok()) << listener.error().message;
  EXPECT_FALSE(UnixListener::open(path).ok()) << "one that lives keeps its socket";
  EXPECT_TRUE(UnixChannel::connect(path).ok());
}

TEST(UnixListener, ListensWherePathsAreLongerThanTheKernelTakes) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("rubato-" + std::to_string(::getpid())) /
                                       std::string(150, 'd');
  std::filesystem::create_directories(folder);
  const std::string path = folder / "socket";
  for (int round = 0; round < 2; ++round) {  // The second time where the first left its socket.
    auto listener = UnixListener::open(path);
    ASSERT_TRUE(listener.ok()) << listener.error().message;
    auto caller = UnixChannel::connect(path);
    ASSERT_TRUE(caller.ok()) << caller.error().message;
    ASSERT_TRUE(caller->send("hello").ok());
    EXPECT_EQ(listener->accept()->front().receive()->front().bytes, "hello");
    EXPECT_FALSE(UnixListener::open(path).ok()) << "one that lives keeps its socket";
    if (round == 0) {
      std::filesystem::rename(path, folder / "kept");
      *listener = UnixListener::open(folder / "other").value();
      std::filesystem::rename(folder / "kept", path);
    }
  }

  EXPECT_FALSE(std::filesystem::exists(path)) << "removed with its listener";
  EXPECT_FALSE(UnixChannel::connect(path).ok());
  const auto named = UnixListener::open(folder / std::string(120, 'n'));
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().code, ErrorCode::BadConfig);
  EXPECT_FALSE(UnixListener::open(folder / "none" / "socket").ok());
  std::filesystem::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace rubato
