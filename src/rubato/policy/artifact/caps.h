// The most GPUs that ElasticFlow's published simulator gives to a job of each model.
//
// A table written by hand replaces the paper's "stop at the peak of the speed curve"; other
// schedulers of the artifact do not know it. Source: ElasticFlow artifact, Apache-2.0.
#pragma once

#include <string_view>

namespace rubato::policy::artifact {

/// `gpu_type` T4 has its own table; every other type uses that of the A100.
[[nodiscard]] int gpus_max(std::string_view model, int batch, std::string_view gpu_type);

}  // namespace rubato::policy::artifact
