// toml++ as this folder uses it: header-only, errors as values. Included by .cpp files here only.
//
// With NDEBUG toml++ 3.3 turns its assertions into promises to the optimizer, and without it into
// aborts; foreign bytes break one of them (`[=`: parse_key). Made to do nothing, the code behind it
// reports the error as it should. tests/fuzz/cluster_config_fuzz.cpp watches over this.
#pragma once

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
