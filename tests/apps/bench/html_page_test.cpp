#include "apps/bench/html_page.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace penstock::apps::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(html_page, escapes_whatever_it_is_given) {
  html_page page;
  page.title = "a</title><script>alert(1)</script>";
  page.summary = {"<b>&\"'"};
  page.facts = {{"<i>", "</dl>"}};
  page.tables = {{"<u>", {"<td>"}, {{"</table>"}}}};
  page.plots.push_back({"</script>", {}, {}, false});
  auto html = to_html(page);
  for (const char* raw : {"alert(1)</script>", "<b>", "<i>", "</dl><", "<u>", "<th><td>"})
    EXPECT_THAT(html, Not(HasSubstr(raw)));
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;&amp;&quot;&#39;"));
}

TEST(html_page, holds_every_point_and_prompt_as_json) {
  timeline t;
  t.points = {{1.5, 0.25, 3}, {2.0, 0.5, 4}};
  t.prompts = {{0.0, 1.5, 700}};
  html_page page;
  page.plots = {t, {}};
  auto html = to_html(page);
  auto from = html.find("const plots = ") + 14;
  auto data = nlohmann::json::parse(html.substr(from, html.find(";\n", from) - from));
  ASSERT_EQ(data.size(), 2U);
  EXPECT_EQ(data[0]["points"], nlohmann::json({1.5, 0.25, 3, 2.0, 0.5, 4}));
  EXPECT_EQ(data[0]["prompts"], nlohmann::json({0.0, 1.5, 700}));
  EXPECT_TRUE(data[1]["points"].empty());
}

TEST(timeline, has_a_point_per_gap_and_a_bar_per_prompt) {
  std::deque<request_record> records(2);
  records[0].due = 1000;
  records[0].tokens = {3000, 4000, 6500};
  records[0].prompt_tokens = 9;
  records[1].due = 2000;
  records[1].ended = 7000; // Without a token.
  auto all = [](const request_record&) { return true; };
  auto t = timeline_of(records, "x", all, all);
  ASSERT_EQ(t.points.size(), 2U);
  EXPECT_EQ(t.points[1].at_ms, 6.5);
  EXPECT_EQ(t.points[1].gap_ms, 2.5);
  EXPECT_EQ(t.points[1].request, 1U);
  ASSERT_EQ(t.prompts.size(), 2U);
  EXPECT_EQ(t.prompts[0].to_ms, 3.0);
  EXPECT_EQ(t.prompts[0].tokens, 9U);
  EXPECT_EQ(t.prompts[1].to_ms, 7.0);
  EXPECT_FALSE(t.thinned);
}

TEST(timeline, thinned_out_keeps_the_longest_gaps) {
  std::vector<timeline_point> points;
  for (int i = 0; i < 10'000; ++i)
    points.push_back({static_cast<double>(i), i % 500 == 0 ? 99.0 : 1.0, 0});
  EXPECT_TRUE(thin_out(points, 2000));
  EXPECT_LE(points.size(), 2000U);
  int large = 0;
  for (const auto& p : points)
    large += p.gap_ms == 99.0 ? 1 : 0;
  EXPECT_EQ(large, 20);
  EXPECT_FALSE(thin_out(points, 2000));
}

} // namespace
} // namespace penstock::apps::bench
