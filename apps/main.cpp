#include "apps/commands.hpp"
#include "apps/exit_code.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  try {
    return penstock::apps::run_command_line({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "penstock: " << e.what() << '\n';
    return penstock::apps::exit_failed;
  }
}
