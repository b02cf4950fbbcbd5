#include "sim/config/input_files.h"

#include "sim/config/json.h"
#include "tests/support/tiny_experiment.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(InputFiles, KnowWhatWasReadByAnyName) {
  const TinyFolder folder;
  InputFiles::all().clear();  // numbers of files that are gone are used again
  const std::string file = folder.write("a", "text");
  std::filesystem::create_symlink(file, folder.path("link"));
  std::filesystem::create_hard_link(file, folder.path("other"));
  folder.write("b", "text");
  EXPECT_FALSE(InputFiles::all().contains(file));
  read_file(file);
  for (const char* name : {"a", "link", "other", "./a"})
    EXPECT_TRUE(InputFiles::all().contains(folder.path(name))) << name;
  EXPECT_FALSE(InputFiles::all().contains(folder.path("b")));
  EXPECT_FALSE(InputFiles::all().contains(folder.path("absent")));
  InputFiles::all().clear();
  EXPECT_FALSE(InputFiles::all().contains(file));
}

}  // namespace
}  // namespace steptime
