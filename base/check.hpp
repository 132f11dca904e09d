// Broken preconditions are our bugs: they abort, in release builds too.
#pragma once

#include <cstdio>
#include <cstdlib>

#define PS_CHECK(cond)                                                                             \
  do {                                                                                             \
    if (!(cond)) [[unlikely]] {                                                                    \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #cond);                \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)

#define PS_UNREACHABLE()                                                                           \
  do {                                                                                             \
    std::fprintf(stderr, "%s:%d: reached the unreachable\n", __FILE__, __LINE__);                  \
    std::abort();                                                                                  \
  } while (false)
