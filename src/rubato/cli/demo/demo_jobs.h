// The jobs of the demonstration: real programs on data that Debian packages.
#pragma once

#include <string>

#include "rubato/base/result.h"
#include "rubato/wire/platform.pb.h"

namespace rubato {

/// Where the training programs lie.
struct DemoPrograms {
  std::string python = "/usr/bin/python3";  // The one that has Debian's torch.
  std::string examples{};
  std::string compiled{};  // The example in C++.
};

/// `examples` empty: beside this program's own folder, or here. An error says what to install.
[[nodiscard]] Result<DemoPrograms> find_demo_programs(const std::string& examples);

/// Fashion-MNIST by a script that knows nothing of us.
[[nodiscard]] wire::JobSpec demo_images(const DemoPrograms& programs, int epochs);
inline constexpr int kDemoStepsPerEpoch = 100;

/// The text of a dictionary by a script that uses our trainer.
[[nodiscard]] wire::JobSpec demo_text_model(const DemoPrograms& programs, int steps);

/// Fashion-MNIST in C++, always with two workers.
[[nodiscard]] wire::JobSpec demo_pair(const DemoPrograms& programs);

}  // namespace rubato
