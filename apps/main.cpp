#include "apps/commands.hpp"
#include "apps/exit_code.hpp"
#include "fabric/signals.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  // First of all: Debian's libfabric pulls in a library that takes over our signals when loaded.
  penstock::fabric::restore_default_signals();
  try {
    return penstock::apps::run_command_line({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "penstock: " << e.what() << '\n';
    return penstock::apps::exit_failed;
  }
}
