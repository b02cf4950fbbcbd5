// Are equal texts equal words, whoever asks, and in whichever thread?
#include "sim/experiment/kind_word.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(KindWord, EqualTextsAreOneWord) {
  const KindWord volta = "Volta";
  EXPECT_EQ(volta, KindWord(std::string("Vol") + "ta"));
  EXPECT_NE(volta, KindWord("Pascal"));
  EXPECT_EQ(volta.text(), "Volta");
  EXPECT_EQ(KindWord(), KindWord(""));
  EXPECT_EQ(KindWord().text(), "");
}

TEST(KindWord, JoinsAsTextsAreJoined) {
  // More pairs than a thread keeps, twice.
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 50; ++i) {
      const std::string text = "s" + std::to_string(i);
      const KindWord both = KindWord::joined("all-reduce", text);
      EXPECT_EQ(both, KindWord("all-reduce, " + text));
      EXPECT_EQ(both.text(), "all-reduce, " + text);
    }
  }
}

TEST(KindWord, ThreadsThatMeetANewTextAgree) {
  std::vector<std::vector<KindWord>> found(4);
  std::vector<std::thread> threads;
  for (auto& words : found) {
    threads.emplace_back([&words] {
      for (int i = 0; i < 500; ++i)
        words.emplace_back("thread " + std::to_string(i));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const auto& words : found)
    EXPECT_EQ(words, found[0]);
  EXPECT_EQ(found[3][499].text(), "thread 499");
}

}  // namespace
}  // namespace steptime
