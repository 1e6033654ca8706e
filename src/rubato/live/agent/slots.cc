#include "rubato/live/agent/slots.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "rubato/launch/logs/process_output.h"
#include "rubato/launch/process/program_path.h"

namespace rubato {
namespace {

constexpr std::size_t kFieldsOfAGpu = 4;
constexpr int kNodesMax = 10'000;
constexpr int kSlotsOfANodeMax = 1024;

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char letter) {
    return letter == ' ' || letter == '\r' || letter == '\t';
  };
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

bool parse_count(std::string_view text, int& count) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && count >= 0;
}

// The driver puts what it cannot tell in brackets, and `ERR!` where it knows that something is bad.
bool says_trouble(std::string_view field) {
  return field.empty() || field.front() == '[' || field.find("ERR!") != std::string_view::npos ||
         field.find("N/A") != std::string_view::npos;
}

}  // namespace

GpuListing parse_gpus(std::string_view text) {
  GpuListing listing;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) {
      continue;
    }
    const auto fields = split(line, ',');
    FoundGpu gpu;
    const bool is_whole = fields.size() == kFieldsOfAGpu &&
                          std::ranges::none_of(fields, says_trouble) &&
                          parse_count(fields[0], gpu.index);
    const bool is_double = std::ranges::count(listing.gpus, gpu.index, &FoundGpu::index) > 0;
    if (!is_whole || is_double) {
      listing.notes.push_back(fmt::format("a GPU is left out, nvidia-smi says: {}", line));
      continue;
    }
    gpu.name = fields[1];
    gpu.memory = fields[2];
    gpu.uuid = fields[3];
    listing.gpus.push_back(std::move(gpu));
  }
  return listing;
}

Result<GpuListing> list_gpus(const Environment& environment, Duration patience) {
  const auto program = program_path("nvidia-smi", environment, "/");
  if (!program) {
    return Error{.code = ErrorCode::NotFound, .message = "there is no nvidia-smi in PATH"};
  }
  const auto text = output_of(
      {.argv = {*program, "--query-gpu=index,name,memory.total,uuid", "--format=csv,noheader"},
       .environment = environment,
       .directory = "/"},
      patience);
  if (!text) {
    return Error{.code = ErrorCode::Io, .message = text.error().message};
  }
  return parse_gpus(*text);
}

std::string gpu_type_of(std::string_view name) {
  constexpr std::array<std::string_view, 4> kMakers{"NVIDIA", "Tesla", "GeForce", "Quadro"};
  std::string type;
  for (const std::string_view word : split(name, ' ')) {
    if (word.empty() || std::ranges::find(kMakers, word) != kMakers.end()) {
      continue;
    }
    const std::string_view model = word.substr(0, word.find('-'));
    type += (type.empty() ? "" : "-") + std::string(model);
    if (std::ranges::any_of(model, [](char letter) { return letter >= '0' && letter <= '9'; })) {
      break;  // What follows is memory and form.
    }
  }
  std::ranges::transform(type, type.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return type;
}

wire::AgentNode gpu_node(const std::string& name, const GpuListing& listing) {
  wire::AgentNode node;
  node.set_name(name);
  for (const FoundGpu& gpu : listing.gpus) {
    wire::AgentSlot& slot = *node.add_slots();
    slot.set_index(node.slots_size() - 1);  // One that is left out leaves no gap.
    // The driver and the CUDA library may count in different orders; the long name is the same.
    slot.set_device(gpu.uuid.starts_with("GPU-") ? gpu.uuid : std::to_string(gpu.index));
    slot.set_description(fmt::format("{}, {}", gpu.name, gpu.memory));
  }
  if (!listing.gpus.empty()) {
    node.set_gpu_type(gpu_type_of(listing.gpus.front().name));
  }
  return node;
}

wire::AgentNode cpu_node(const std::string& name, int slots) {
  wire::AgentNode node;
  node.set_name(name);
  for (int i = 0; i < slots; ++i) {
    node.add_slots()->set_index(i);
    node.mutable_slots(i)->set_description("a share of the CPUs");
  }
  return node;
}

Result<std::vector<wire::AgentNode>> emulated_nodes(std::string_view text) {
  const auto parts = split(text, 'x');
  int nodes = 0;
  int slots = 0;
  const bool is_good = parts.size() == 2 && parse_count(parts[0], nodes) &&
                       parse_count(parts[1], slots) && nodes >= 1 && nodes <= kNodesMax &&
                       slots >= 1 && slots <= kSlotsOfANodeMax;
  if (!is_good) {
    return bad_input(
        fmt::format("'{}' emulated nodes: expected nodes and slots, such as 16x8; at most {}x{}",
                    text, kNodesMax, kSlotsOfANodeMax));
  }
  std::vector<wire::AgentNode> made;
  for (int i = 1; i <= nodes; ++i) {
    wire::AgentNode node = cpu_node(fmt::format("emulated-{:02}", i), slots);
    for (wire::AgentSlot& slot : *node.mutable_slots()) {
      slot.set_description("emulated");
    }
    node.set_gpu_type("emulated");
    node.set_emulated(true);
    made.push_back(std::move(node));
  }
  return made;
}

}  // namespace rubato
