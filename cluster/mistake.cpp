#include "cluster/mistake.hpp"

#include <algorithm>

namespace penstock::cluster {
namespace {

constexpr size_t compared_bytes_max = 40; // Keeps the table of distances small.

/// Letters to insert, remove, change or swap with their neighbour to make `a` into `b`.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j)
    d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

} // namespace

std::string in_quotes(std::string_view text, size_t bytes_max) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text.substr(0, bytes_max)) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    }
  }
  out += text.size() > bytes_max ? "...\"" : "\"";
  return out;
}

std::string_view closest(std::string_view word, std::span<const std::string_view> among) {
  if (word.empty() || word.size() > compared_bytes_max)
    return {};
  std::string_view best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (std::string_view candidate : among) {
    size_t d = distance(word, candidate);
    if (word.size() >= 3 && (candidate.starts_with(word) || word.starts_with(candidate)))
      d = 1; // Cut short, or a little too long.
    if (d < least && d < std::max(word.size(), candidate.size())) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string to_text(const mistake& m) {
  std::string out = m.file;
  if (m.at.line > 0)
    out += ':' + std::to_string(m.at.line) + ':' + std::to_string(m.at.column);
  out += ": ";
  if (!m.place.empty())
    out += m.place + (m.key.empty() ? " " : ": ");
  if (!m.key.empty())
    out += "key " + in_quotes(m.key) + ' ';
  out += m.found;
  if (!m.hint.empty())
    out += "; " + m.hint;
  if (!m.allowed.empty())
    out += (out.back() == '?' ? " allowed: " : "; allowed: ") + m.allowed;
  return out;
}

std::string to_text(std::span<const mistake> list) {
  std::string out;
  for (const mistake& m : list)
    out += to_text(m) + '\n';
  return out;
}

} // namespace penstock::cluster
