#include "rubato/trace/reader_laws.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "rubato/trace/formats/formats.h"
#include "rubato/trace/generate/generator.h"
#include "rubato/trace/read_text.h"
#include "rubato/trace/write/elasticflow_writer.h"

namespace rubato {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every format's corpus is also shown to every other reader: it must be refused, not believed.
TEST(ReaderLaws, HoldForTheWholeCorpus) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/corpus")) {
    if (!entry.is_regular_file()) {
      continue;
    }
    ++files;
    const std::string text = text_of(entry.path());
    check_reader_laws("auto", text);
    for (const TraceFormat& format : trace_formats()) {
      check_reader_laws(format.name, text);
    }
  }
  EXPECT_GE(files, 45U);
}

TEST(ReaderLaws, MemoryDoesNotGrowWithTheTrace) {
  auto generator = Generator::make({.jobs = 20'000});
  ASSERT_TRUE(generator.ok());
  std::string text = elasticflow_header_line();
  std::size_t longest = text.size();
  while (const auto job = generator->next()) {
    const std::string line = elasticflow_job_line(*job);
    longest = std::max(longest, line.size());
    text += line;
  }

  const TraceText trace = read_text("elasticflow", text, 4093);

  EXPECT_EQ(trace.jobs.size(), 20'000U);
  EXPECT_LE(trace.buffered_max, longest);
}

}  // namespace
}  // namespace rubato
