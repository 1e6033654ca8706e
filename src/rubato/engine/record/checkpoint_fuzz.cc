// Any text is an error or a state: never a crash, and what was loaded is saved and loaded alike.
#include "rubato/engine/record/checkpoint.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rubato/base/check.h"
#include "rubato/engine/engine.h"
#include "rubato/engine/record/sealed_text.h"

namespace {

constexpr std::array<std::string_view, 4> kPolicies = {"elasticflow", "tiresias", "pollux",
                                                       "oasis"};

rubato::Engine fresh_engine(std::string_view policy, std::string_view placer) {
  const rubato::Topology topology = rubato::Topology::parse("2x4").value();
  return rubato::Engine::make(topology, rubato::SpeedBook({}, topology), policy,
                              rubato::EngineOptions{.tenants = {{.name = "a", .share = 0.5}},
                                                    .placer = std::string(placer)})
      .value();
}

void check_loaded(std::string_view text, std::string_view policy, std::string_view placer) {
  rubato::Engine engine = fresh_engine(policy, placer);
  if (const rubato::Status loaded = engine.load(text); !loaded) {
    RUBATO_CHECK(!loaded.error().message.empty());
    return;
  }
  const std::string saved = engine.save();
  rubato::Engine again = fresh_engine(policy, placer);
  RUBATO_CHECK(again.load(saved).ok());
  RUBATO_CHECK(again.save() == saved);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  check_loaded(text, kPolicies.front(), "buddy");
  // Gives damaged text the seal that it should have, so that damage gets past it.
  const std::size_t first = text.find('\n');
  const std::string resealed =
      rubato::sealed(rubato::kCheckpointFormat,
                     first == std::string::npos ? text : std::string_view(text).substr(first + 1));
  for (const std::string_view policy : kPolicies) {
    check_loaded(resealed, policy, "buddy");
  }
  check_loaded(resealed, "edf", "hived");
  return 0;
}
