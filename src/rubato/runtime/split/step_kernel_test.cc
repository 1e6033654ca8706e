#include "rubato/runtime/split/step_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/runtime/split/step_table.h"

namespace rubato::runtime::split {
namespace {

std::vector<StepKind> kinds_here() {
  return expected_step_kind() == StepKind::Fused
             ? std::vector<StepKind>{StepKind::Plain, StepKind::Fused}
             : std::vector<StepKind>{StepKind::Plain};
}

TEST(StepKernel, AddsPartsInOrderToWhatWasThere) {
  const float large = 1 << 25;
  const std::vector<std::vector<float>> parts{{large, 1}, {1, 2}, {-large, 3}};
  for (const StepKind kind : kinds_here()) {
    for (const auto& [base, first, second] : {std::tuple(GradientBase::None, 0.0F, 6.0F),
                                              std::tuple(GradientBase::Value, 10.0F, 26.0F)}) {
      std::vector<float> gradient{10, 20};
      StepWork work{.parts = 3, .base = base};
      for (std::size_t part = 0; part < 3; ++part) {
        work.areas[part] = parts[part].data();
      }

      run_piece(kind, work, {.gradient = gradient.data(), .floats = 2});

      // In single precision one is lost beside a large number: in this order, and in no other.
      EXPECT_EQ(gradient, (std::vector<float>{first, second}));
    }
  }
}

TEST(StepKernel, KeepsANegativeZeroOnlyIfThereWasNothing) {
  const float part = -0.0F;
  for (const StepKind kind : kinds_here()) {
    for (const GradientBase base : {GradientBase::None, GradientBase::Zero}) {
      float gradient = 5;
      StepWork work{.parts = 1, .base = base};
      work.areas[0] = &part;

      run_piece(kind, work, {.gradient = &gradient, .floats = 1});

      EXPECT_EQ(gradient, 0);
      EXPECT_EQ(std::signbit(gradient), base == GradientBase::None);
    }
  }
}

TEST(StepKernel, TakesAStepOfSgdWithMomentum) {
  for (const StepKind kind : kinds_here()) {
    float parameter = 1;
    float gradient = 8;
    float momentum = 2;
    StepWork work{.is_scaled = true, .scale = 0.5F};
    work.settings[1] =
        update_settings({.rate = 0.25, .momentum = 0.5, .dampening = 0.5, .weight_decay = 2});

    run_piece(kind, work,
              {.parameter = &parameter,
               .gradient = &gradient,
               .first = &momentum,
               .floats = 1,
               .settings = 1});

    EXPECT_EQ(gradient, 4) << "scaled";
    EXPECT_EQ(momentum, 2 * 0.5F + (4 + 2 * 1) * 0.5F);
    EXPECT_EQ(parameter, 1 - 0.25F * 4);
  }
}

TEST(StepKernel, TakesTheFirstStepOfAdam) {
  for (const bool is_decoupled : {false, true}) {
    for (const StepKind kind : kinds_here()) {
      float parameter = 3;
      float gradient = 2;
      float first = 0;
      float second = 0;
      StepWork work;
      work.settings[1] = update_settings(AdamOptions{.rate = 0.5,
                                                     .beta1 = 0.9,
                                                     .beta2 = 0.999,
                                                     .weight_decay = 0.5,
                                                     .is_decoupled = is_decoupled});

      run_piece(kind, work,
                {.parameter = &parameter,
                 .gradient = &gradient,
                 .first = &first,
                 .second = &second,
                 .floats = 1,
                 .settings = 1});

      // The first step goes by the rate, whatever the size of the gradient.
      EXPECT_NEAR(parameter, is_decoupled ? 3 * 0.75 - 0.5 : 2.5, 1e-6);
      EXPECT_EQ(gradient, 2) << "weight decay is no part of the gradient that others see";
      EXPECT_NEAR(first, (is_decoupled ? 2 : 3.5) * 0.1, 1e-6);
    }
  }
}

// Whether a float is worked on in a vector or in the rest behind the vectors makes no difference.
TEST(StepKernel, TreatsAllFloatsAlike) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const StepKind kind : kinds_here()) {
    for (std::uint32_t floats = 1; floats < 40; ++floats) {
      std::vector<float> numbers(5 * floats);
      std::ranges::generate(numbers, [&] { return std::abs(normal(random)); });
      std::vector<float> one_by_one = numbers;
      StepWork work{.parts = 1, .base = GradientBase::Value};
      work.areas[0] = numbers.data();
      work.settings[1] = update_settings(
          AdamOptions{.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1, .step = 3});
      const auto piece_of = [floats](std::vector<float>& memory) {
        return StepPiece{.parameter = memory.data() + floats,
                         .gradient = memory.data() + 2 * floats,
                         .first = memory.data() + 3 * floats,
                         .second = memory.data() + 4 * floats,
                         .floats = floats,
                         .settings = 1};
      };

      run_piece(kind, work, piece_of(numbers));
      StepPiece piece = piece_of(one_by_one);
      piece.floats = 1;
      for (std::uint32_t i = 0; i < floats; ++i) {
        run_piece(kind, work, piece);
        ++piece.parameter;
        ++piece.gradient;
        ++piece.first;
        ++piece.second;
        ++piece.area_begin;
      }

      ASSERT_EQ(std::memcmp(numbers.data(), one_by_one.data(), numbers.size() * sizeof(float)), 0)
          << floats;
    }
  }
}

TEST(StepTable, CutsEntriesIntoPiecesAndHandsOutLargeOnesFirst) {
  std::vector<float> memory(20'000);
  const std::vector<StepEntry> entries{
      {.parameter = memory.data(), .floats = 10, .settings = 1},
      {.parameter = memory.data() + 10, .area_begin = 16, .floats = 2 * kPieceFloats + 1}};
  StepTable table(entries, {});

  ASSERT_EQ(table.pieces().size(), 4);
  EXPECT_EQ(StepTable::piece_count(entries), 4);
  EXPECT_EQ(table.floats(), 2 * kPieceFloats + 11);
  EXPECT_EQ(table.pieces()[1].area_begin, 16 + kPieceFloats);
  EXPECT_EQ(table.pieces()[1].parameter, memory.data() + 10 + kPieceFloats);
  EXPECT_EQ(table.pieces()[2].settings, 1);
  EXPECT_EQ(table.pieces()[3].floats, 1);

  std::vector<float> gradient(10);
  table.set_gradients(std::vector<float*>{gradient.data(), nullptr});

  EXPECT_EQ(table.pieces()[2].gradient, gradient.data());
  EXPECT_EQ(table.pieces()[0].gradient, nullptr);
  EXPECT_EQ(table.pieces()[1].gradient, nullptr);
}

}  // namespace
}  // namespace rubato::runtime::split
