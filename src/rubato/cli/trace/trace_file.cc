#include "rubato/cli/trace/trace_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "rubato/trace/formats/formats.h"
#include "rubato/trace/read/finish_trace.h"

namespace rubato {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;
/// Beyond this a trace is to be streamed, not loaded: it would need tens of gigabytes.
constexpr std::size_t kLoadedJobsMax = 50'000'000;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Error io_error(const std::string& path, const char* what) {
  return Error{.code = ErrorCode::Io, .message = path + ": " + what + ": " + std::strerror(errno)};
}

// Feeds everything the stream has; an error if it breaks off.
Status feed_all(std::FILE* stream, const std::string& path, Reader& reader) {
  std::vector<char> chunk(kChunkBytes);
  for (;;) {
    const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), stream);
    if (count == 0) {
      break;
    }
    reader.feed({chunk.data(), count});
  }
  if (std::ferror(stream) != 0) {
    return io_error(path, "cannot be read");
  }
  return ok_status();
}

}  // namespace

Status read_trace(const std::string& path, std::string_view format, ReaderSetup setup) {
  setup.file = path == "-" ? "stdin" : path;
  auto reader = make_reader(format, std::move(setup));
  if (!reader) {
    return reader.error();
  }
  const std::unique_ptr<std::FILE, FileCloser> opened(path == "-" ? nullptr
                                                                  : std::fopen(path.c_str(), "rb"));
  if (path != "-" && opened == nullptr) {
    return io_error(path, "cannot be opened");
  }
  const Status fed = feed_all(path == "-" ? stdin : opened.get(), path, **reader);
  return fed.ok() ? (*reader)->finish() : fed;
}

Result<std::vector<Job>> load_trace(const std::string& path, std::string_view format,
                                    std::vector<Diagnostic>& diagnostics) {
  std::vector<Job> jobs;
  bool is_too_long = false;
  ReaderSetup setup;
  setup.jobs = [&](Job&& job, std::uint64_t) {
    is_too_long = jobs.size() >= kLoadedJobsMax;
    if (!is_too_long) {
      jobs.push_back(std::move(job));
    }
  };
  setup.diagnostics = [&](Diagnostic&& found) { diagnostics.push_back(std::move(found)); };
  const Status read = read_trace(path, format, std::move(setup));
  if (!read) {
    return read.error();
  }
  if (is_too_long) {
    return bad_input(path + ": more than " + std::to_string(kLoadedJobsMax) + " jobs");
  }
  finish_trace(jobs);
  return jobs;
}

}  // namespace rubato
