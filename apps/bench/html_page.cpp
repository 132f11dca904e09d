#include "apps/bench/html_page.hpp"

#include <cstdio>

namespace penstock::apps::bench {

namespace {

constexpr std::string_view style = R"(
:root { --back: #fff; --ink: #1b1f24; --faint: #d7dce2; --dim: #66707a; --point: #1f6feb;
  --prompt: #d9480f; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --ink: #e6e9ed; --faint: #353c45;
  --dim: #98a2ad; --point: #6cb0ff; --prompt: #ff9a5c; } }
body { background: var(--back); color: var(--ink); font: 15px/1.45 system-ui, sans-serif;
  max-width: 1100px; margin: 2em auto; padding: 0 1em; }
p { margin: .3em 0; }
h1 { font-size: 1.5em; margin-bottom: .2em; } h2 { font-size: 1.1em; margin: 1.6em 0 .4em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .2em .9em .2em 0; text-align: right; border-bottom: 1px solid var(--faint); }
td:first-child, th:first-child { text-align: left; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em 1em; color: var(--dim); }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 0 0 1.2em; } figcaption { font-weight: 600; margin-bottom: .2em; }
canvas { width: 100%; height: 260px; display: block; cursor: crosshair; }
.note, output { color: var(--dim); font-size: .9em; } output { display: block; height: 1.5em; }
)";

void add_number(std::string& out, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  out += text;
}

/// The plots as a JSON array. Its texts are escaped for HTML, so that none can end the script.
std::string data_of(const std::vector<timeline>& plots) {
  std::string out = "[";
  for (size_t i = 0; i < plots.size(); ++i) {
    out += i == 0 ? "\n{\"points\":[" : ",\n{\"points\":[";
    const char* between = "";
    for (const auto& p : plots[i].points) {
      out += between;
      add_number(out, p.at_ms);
      out += ',';
      add_number(out, p.gap_ms);
      out.append(",").append(std::to_string(p.request));
      between = ",";
    }
    out += "],\"prompts\":[";
    between = "";
    for (const auto& p : plots[i].prompts) {
      out += between;
      add_number(out, p.from_ms);
      out += ',';
      add_number(out, p.to_ms);
      out.append(",").append(std::to_string(p.tokens));
      between = ",";
    }
    out += "]}";
  }
  return out + "]";
}

std::string cells(const std::vector<std::string>& texts, std::string_view tag) {
  std::string out{"<tr>"};
  for (const auto& text : texts) {
    out.append("<").append(tag).append(">").append(html_escaped(text));
    out.append("</").append(tag).append(">");
  }
  return out.append("</tr>\n");
}

std::string table_of(const html_table& table) {
  std::string out
    = "<h2>" + html_escaped(table.title) + "</h2>\n<table>\n" + cells(table.head, "th");
  for (const auto& row : table.rows)
    out += cells(row, "td");
  return out + "</table>\n";
}

std::string plots_of(const std::vector<timeline>& plots) {
  if (plots.empty())
    return {};
  std::string out = "<h2>Time between tokens</h2>\n<p class=\"note\">A point per token: when it "
                    "came, and how long after the one before. Bars along the bottom: prompts, from "
                    "when they were due to their first token; shading marks the same span. Drag to "
                    "zoom, double-click for all, point at a token to read it. "
                    "<label><input type=\"checkbox\" id=\"log\"> logarithmic</label></p>\n";
  for (size_t i = 0; i < plots.size(); ++i) {
    out += "<figure><figcaption>" + html_escaped(plots[i].title) + "</figcaption>";
    if (plots[i].thinned)
      out += "<span class=\"note\">Not every token is drawn; the longest gaps are.</span>";
    out += "<canvas data-plot=\"" + std::to_string(i) + "\"></canvas><output></output></figure>\n";
  }
  return out;
}

} // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '&':
      out += "&amp;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    default:
      out += c;
    }
  }
  return out;
}

std::string to_html(const html_page& page) {
  auto title = html_escaped(page.title);
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>"
                    + title + "</title>\n<style>" + std::string{style}
                    + "</style>\n</head>\n<body>\n" + "<h1>" + title + "</h1>\n";
  for (const auto& sentence : page.summary)
    out += "<p>" + html_escaped(sentence) + "</p>\n";
  for (const auto& table : page.tables)
    out += table_of(table);
  out += plots_of(page.plots) + "<h2>About this run</h2>\n<dl>\n";
  for (const auto& [name, value] : page.facts)
    out += "<dt>" + html_escaped(name) + "</dt><dd>" + html_escaped(value) + "</dd>\n";
  out += "</dl>\n<script>\nconst plots = " + data_of(page.plots) + ";\n"
         + std::string{plot_script()} + "</script>\n</body>\n</html>\n";
  return out;
}

} // namespace penstock::apps::bench
