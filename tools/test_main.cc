// The main() of every test executable.
//
// Gives property tests a fixed seed, so that a run is the same everywhere. Set RC_PARAMS yourself
// (for example RC_PARAMS="seed=7 max_success=1000") to explore other inputs; `make soak` does.

#include <cstdlib>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  setenv("RC_PARAMS", "seed=1", /*overwrite=*/0);
  std::cout << "RC_PARAMS=" << std::getenv("RC_PARAMS") << std::endl;
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
