// Are bytes the file's, whatever its packing, and is damage an error that says where?
#include "models/importers/byte_stream.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <filesystem>
#include <string>
#include <vector>
#include <zlib.h>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string gzip(const std::string& text) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&z, text.size()) + 32, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);
  const std::size_t size = z.total_out;
  deflateEnd(&z);
  return packed.substr(0, size);
}

std::string all_of(ByteStream& stream) {
  std::string text;
  while (!stream.at_end())
    text += stream.get();
  return text;
}

/// Larger than the buffer, and not the same everywhere.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += std::to_string(i);
  return text;
}

TEST(ByteStream, ReadsPlainAndGzipAlike) {
  const std::string text = long_text();
  const ScratchFile plain("plain", text);
  const ScratchFile packed("packed", gzip(text));
  ByteStream from_plain(plain.path());
  ByteStream from_packed(packed.path());
  ByteStream from_memory("x", text);
  EXPECT_EQ(all_of(from_plain), text);
  EXPECT_EQ(all_of(from_packed), text);
  EXPECT_EQ(all_of(from_memory), text);
  EXPECT_EQ(from_packed.position(), text.size());
}

TEST(ByteStream, ReadTakesWhatIsThere) {
  ByteStream stream("x", "abcdef");
  EXPECT_EQ(stream.read(4), "abcd");
  EXPECT_EQ(stream.position(), 4U);
  EXPECT_EQ(stream.read(4), "ef");
  EXPECT_EQ(stream.read(4), "");
}

TEST(ByteStream, TellsTheShareThatWasRead) {
  const ScratchFile file("packed", gzip(long_text()));
  std::vector<double> shares;
  ByteStream stream(file.path(), [&](double share) { shares.push_back(share); });
  all_of(stream);
  ASSERT_GT(shares.size(), 1U);
  EXPECT_EQ(shares.front(), 0);
  EXPECT_EQ(shares.back(), 1);
}

TEST(ByteStream, ADamagedOrCutFileSaysSo) {
  const std::string packed = gzip(long_text());
  const ScratchFile cut("cut", packed.substr(0, packed.size() / 2));
  const std::string cut_error = message_of<InputError>([&] {
    ByteStream stream(cut.path());
    all_of(stream);
  });
  EXPECT_TRUE(cut_error.starts_with(cut.path() + ": byte ")) << cut_error;
  EXPECT_TRUE(cut_error.ends_with(": damaged or cut short: unexpected end of the gzip data"))
      << cut_error;
  std::string broken = packed;
  for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i)
    broken[i] = static_cast<char>(~broken[i]);
  const ScratchFile damaged("damaged", broken);
  const std::string damage = message_of<InputError>([&] {
    ByteStream stream(damaged.path());
    all_of(stream);
  });
  EXPECT_NE(damage.find(": damaged or cut short: "), std::string::npos) << damage;
}

TEST(ByteStream, AValueWithoutEndIsRefusedBeforeItFillsTheMemory) {
  const ScratchFile file("endless", gzip(std::string(20 << 20, ' ')));
  EXPECT_EQ(message_of<InputError>([&] {
              ByteStream stream(file.path());
              all_of(stream);
            }),
            file.path() + ": byte 0: a value of more than 16 MiB");
  ByteStream stream(file.path());
  while (!stream.at_end()) {
    stream.get();
    stream.mark();
  }
  EXPECT_EQ(stream.position(), 20U << 20);
}

TEST(ByteStream, AFileThatIsNoneIsOneLine) {
  EXPECT_EQ(message_of<InputError>([] { ByteStream stream("/absent/file"); }),
            "/absent/file: cannot be read: No such file or directory");
  EXPECT_EQ(message_of<InputError>([] { ByteStream stream("/dev"); }), "/dev: is no regular file");
}

}  // namespace
}  // namespace steptime
