// Penstock needs no network but loopback, no GPU driver and no RDMA device.
#include "cluster.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace penstock::e2e {
namespace {

constexpr const char* in_namespace = "ip link set lo up || exit 77; "
                                     "\"$0\" up >\"$1\" 2>/dev/null & up=$!; "
                                     "for i in $(seq 300); do grep -q ^ready \"$1\" && break; "
                                     "kill -0 $up || exit 1; sleep 0.1; done; "
                                     "\"$0\" ask --json --max-tokens 8 -- 'The old prince'; rc=$?; "
                                     "kill $up; wait $up; exit $rc";

TEST(isolation, the_default_cluster_works_with_nothing_but_loopback) {
  std::vector<std::string> alone{"/usr/bin/unshare", "--net", "--user", "--map-root-user"};
  if (run({alone[0], alone[1], alone[2], alone[3], "/bin/true"}).exit_code != 0) {
    alone = {"/usr/bin/unshare", "--net"};
    if (run({alone[0], alone[1], "/bin/true"}).exit_code != 0)
      GTEST_SKIP() << "this machine lets us make no network namespace";
  }
  auto ready
    = std::filesystem::temp_directory_path() / ("penstock-e2e-alone." + std::to_string(getpid()));
  auto argv = alone;
  argv.insert(argv.end(), {"/bin/bash", "-c", in_namespace, penstock(), ready});
  auto f = run(argv);
  std::filesystem::remove(ready);
  if (f.exit_code == 77)
    GTEST_SKIP() << "loopback cannot be brought up in a namespace: " << f.err;
  ASSERT_EQ(f.exit_code, 0) << f.out << f.err;
  EXPECT_EQ(fingerprint(nlohmann::json::parse(f.out)),
            fingerprint(oracle("builtin", {"--max-tokens", "8", "--", "The old prince"})));
}

} // namespace
} // namespace penstock::e2e
