#include "rubato/launch/device_seats.h"

#include <gmock/gmock.h>

namespace rubato {
namespace {

using testing::ElementsAre;

TEST(DeviceSeats, EveryWorkerGetsADeviceOfItsOwn) {
  DeviceSeats seats;
  seats.offer({"0", "3"});

  EXPECT_EQ(seats.seat(WorkerId{1}), "0");
  EXPECT_EQ(seats.seat(WorkerId{2}), "3");
  seats.leave(WorkerId{1});
  EXPECT_EQ(seats.seat(WorkerId{3}), "0");
}

TEST(DeviceSeats, KnowsWhoMustMove) {
  DeviceSeats seats;
  seats.offer({"0", "1"});
  seats.seat(WorkerId{1});
  seats.seat(WorkerId{2});

  seats.offer({"1", "2"});

  EXPECT_THAT(seats.misplaced(), ElementsAre(WorkerId{1}));
  EXPECT_EQ(seats.seat(WorkerId{3}), "2");
}

TEST(DeviceSeats, SharesOfTheCpusAreAllTheSame) {
  DeviceSeats seats;
  seats.offer({"", "", ""});
  EXPECT_EQ(seats.seat(WorkerId{1}), "");

  seats.offer({""});

  EXPECT_FALSE(seats.has_devices());
  EXPECT_TRUE(seats.misplaced().empty());
  EXPECT_EQ(seats.slots(), 1);
}

}  // namespace
}  // namespace rubato
