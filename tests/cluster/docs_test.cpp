// The reference page and the parser must name the same keys.
#include "cluster/config.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace penstock::cluster {
namespace {

TEST(docs, cluster_file_page_has_a_row_for_every_key_the_parser_knows) {
  std::ifstream in(std::string{PENSTOCK_SOURCE_DIR} + "/docs/cluster_file.md");
  ASSERT_TRUE(in);
  std::stringstream page;
  page << in.rdbuf();
  // An unknown key makes the parser list all it knows, table by table.
  config_report r
    = parse_config("[cluster]\nx_=1\n[[node]]\nx_=1\n[fabric]\nx_=1\n[admission]\nx_=1\n"
                   "[request]\nx_=1\n[guardrail]\nx_=1\n[membership]\nx_=1\n"
                   "[restart]\nx_=1\n[log]\nx_=1\n",
                   "f");
  size_t tables = 0;
  for (const mistake& m : r.mistakes) {
    if (m.key != "x_")
      continue;
    ++tables;
    std::istringstream keys{m.allowed};
    for (std::string key; std::getline(keys, key, ',');) {
      key.erase(0, key.find_first_not_of(' '));
      std::string cell = key == "rule" ? "| `[[guardrail.rule]]` |" : "| `" + key + "` |";
      EXPECT_NE(page.str().find(cell), std::string::npos) << m.place << ": no row for " << key;
    }
  }
  EXPECT_EQ(tables, 9U);
}

} // namespace
} // namespace penstock::cluster
