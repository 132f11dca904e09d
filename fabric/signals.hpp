// Undoes what a library of libfabric does to this process's signals when it is loaded.
//
// Debian's libfabric links libinfinipath, which takes SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV and
// SIGTERM before main() runs: Ctrl-C would then print a backtrace instead of draining.
#pragma once

namespace penstock::fabric {

/// Gives those six signals back their default action and tells the library to leave them alone.
/// Call it first thing in main(): before threads, and before handlers of one's own.
void restore_default_signals();

} // namespace penstock::fabric
