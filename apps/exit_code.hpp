// What the binary's exit codes mean; scripts rely on them.
#pragma once

namespace penstock::apps {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;        ///< Well asked, but it did not work out.
inline constexpr int exit_usage = 2;         ///< Bad command line, or bad cluster file.
inline constexpr int exit_interrupted = 130; ///< Ctrl-C while asking.

} // namespace penstock::apps
