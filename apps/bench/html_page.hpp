// One HTML file with tables and plots of tokens over time. It needs nothing else: style, script and
// data are in it, and it asks no network.
#pragma once

#include "apps/bench/timeline.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::apps::bench {

struct html_table {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows; ///< The first cell of a row is its name.
};

struct html_page {
  std::string title;
  std::vector<std::string> summary; ///< Sentences below the title.
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<html_table> tables;
  std::vector<timeline> plots; ///< Drawn with one scale of gaps, so that they compare.
};

/// @returns The file's bytes. Every text in it is escaped.
[[nodiscard]] std::string to_html(const html_page& page);

/// @returns `text` with what HTML would read as markup replaced.
[[nodiscard]] std::string html_escaped(std::string_view text);

/// The script that draws the plots; html_script.cpp.
[[nodiscard]] std::string_view plot_script() noexcept;

} // namespace penstock::apps::bench
