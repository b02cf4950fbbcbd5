#include "sim/config/input_files.h"

#include "sim/config/data_dir.h"
#include "sim/config/digest.h"
#include "sim/config/json.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

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

// What is shipped has its place in every installation; what is not, beside the config.
TEST(InputFiles, NoteWhatResultsDependOn) {
  const TinyFolder folder;
  InputFiles& files = InputFiles::all();
  files.clear();
  const std::string config = folder.write("x.json", "abc");
  const std::string shipped = (data_dir() / "configs" / "quickstart.json").string();
  std::filesystem::create_directory(folder.path("sub"));
  read_file(config);
  read_file(folder.write("sub/a", ""));
  read_file(shipped);
  text_at(folder.write("b", "of no result"));
  const NamedDigests noted = files.noted(config);
  EXPECT_EQ(noted, (NamedDigests{{"x.json", "a9993e364706816aba3e25717850c26c9cd0d89d"},
                                 {"sub/a", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
                                 {"steptime:configs/quickstart.json", sha1_of(text_at(shipped))}}));
  for (const auto& [name, digest] : noted)
    EXPECT_EQ(sha1_of(text_at(input_path(name, config))), digest) << name;
  EXPECT_EQ(files.count(), 3U);
  read_file(config);
  EXPECT_EQ(files.count(), 3U);
  read_file(folder.write("x.json", "abcd"));
  EXPECT_EQ(message_of<InputError>([&] { files.noted(config); }),
            config + ": was edited while it was in use");
  files.clear();
  EXPECT_EQ(files.noted(config), NamedDigests{});
}

TEST(InputFiles, AKeptOneIsNotedInEachCommandThatUsesIt) {
  const KeptInput kept("/somewhere/kept.json", "11");
  for (int command = 0; command < 2; ++command) {
    InputFiles::all().clear();
    EXPECT_EQ(InputFiles::all().count(), 0U);
    kept.use();
    kept.use();
    EXPECT_EQ(InputFiles::all().noted("/somewhere/x.json"), (NamedDigests{{"kept.json", "11"}}));
  }
}

// As two threads of Python that each run an experiment.
TEST(InputFiles, AreOfTheInnermostScopeOfAThread) {
  InputFiles& of_process = InputFiles::all();
  of_process.clear();
  const KeptInput kept("/somewhere/kept.json", "11");
  kept.use();
  const NamedDigests noted{{"kept.json", "11"}};
  {
    const InputFiles::Scope outer;
    EXPECT_EQ(InputFiles::all().noted("/somewhere/x.json"), NamedDigests{});
    {
      const InputFiles::Scope inner;
      kept.use();
      EXPECT_EQ(InputFiles::all().noted("/somewhere/x.json"), noted);
    }
    EXPECT_EQ(InputFiles::all().noted("/somewhere/x.json"), NamedDigests{});
    std::thread([&] { EXPECT_EQ(&InputFiles::all(), &of_process); }).join();
    kept.use();  // again, though it was used in another scope last
    EXPECT_EQ(InputFiles::all().noted("/somewhere/x.json"), noted);
  }
  EXPECT_EQ(&InputFiles::all(), &of_process);
}

TEST(FilesIn, AreThoseOfAnExtensionInOrder) {
  const TinyFolder folder;  // with trace.json
  folder.write("b.json", "");
  folder.write("a.json", "");
  folder.write("c.csv", "");
  const std::string path = std::filesystem::path(folder.path("x")).parent_path().string();
  EXPECT_EQ(files_in(path, ".json"),
            (std::vector{folder.path("a.json"), folder.path("b.json"), folder.path("trace.json")}));
  EXPECT_EQ(message_of<InputError>([&] { files_in(folder.path("absent"), ".json"); }),
            folder.path("absent") + ": cannot be read: No such file or directory");
}

}  // namespace
}  // namespace steptime
