// The fuzzers' main for compilers without libFuzzer: runs the files that it is given, once each.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad()) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
      return 2;
    }
    std::fprintf(stderr, "%s\n", argv[i]);  // names the culprit should the next line crash
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("%d files\n", argc - 1);
  return argc > 1 ? 0 : 2;
}
