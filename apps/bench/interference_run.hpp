// Runs the interference benchmark: makes the model, starts a cluster at a time, loads it, measures.
//
// Arms are interleaved: every round starts each cluster anew and runs all ratios on it, in an order
// that turns from round to round, so that slow drifts of the machine fall on all arms alike.
#pragma once

#include "apps/bench/interference_options.hpp"
#include "apps/bench/timeline.hpp"
#include "cluster/plan.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace penstock::apps::bench {

struct arm_plan {
  std::string arm;
  std::string text; ///< As `penstock check` prints it.
};

struct interference_result {
  std::string model; ///< In words.
  std::vector<arm_plan> plans;
  double alone_ttft_ms = 0.0; ///< Of the first ratio's prompt on an idle split cluster.
  double period_ms = 0.0;     ///< Between long prompts of the first ratio.
  std::vector<chunk_trial> trials;
  uint32_t chunk = 0; ///< Chosen for the colocated arm.
  std::vector<arm_run> runs;
  std::vector<timeline> timelines; ///< Of the first round, at the middle ratio.
  bool interrupted = false;
};

class interference_run {
public:
  /// @param say Told what happens now, with the share done; from run().
  interference_run(interference_plan plan, std::function<void(double, const std::string&)> say);
  ~interference_run();

  /// Once. @returns What was measured, also if stop() ended it early; an error of a cluster that
  /// did not start or was lost.
  [[nodiscard]] result<interference_result> run();
  /// Any thread.
  void stop();

private:
  class running_cluster;

  result<void> prepare();
  result<void> measure_alone();
  result<void> choose_chunk();
  result<void> one_round(uint32_t round);
  result<void> on_cluster(arm which, uint32_t round);
  result<void> one_run(running_cluster& on, arm which, size_t ratio, uint32_t round);

  [[nodiscard]] result<std::unique_ptr<running_cluster>> start(arm which, uint32_t chunk);
  [[nodiscard]] result<load_result> load(running_cluster& on, arm which, size_t ratio,
                                         uint64_t seed);
  [[nodiscard]] result<load_result> loaded(running_cluster& on, std::vector<load_stream> streams,
                                           time_us cut_after);
  [[nodiscard]] uint64_t seed_of(uint32_t round, size_t ratio, arm which) const;
  [[nodiscard]] size_t middle_ratio() const { return plan_.ratios.size() / 2; }
  [[nodiscard]] bool stopped();
  void tell(const std::string& what);

  interference_plan plan_;
  std::function<void(double, const std::string&)> say_;
  std::string directory_; ///< Ours, removed at the end.
  arm_layout layout_;
  uint32_t context_ = 0; ///< Of the model, in tokens.
  interference_result out_;
  struct {
    time_us from = 0;
    time_us to = 0;
  } window_; ///< Of every run, since its start.
  size_t runs_done_ = 0;
  size_t runs_planned_ = 0;

  std::mutex mutex_; // Guards the two below.
  load_run* current_ = nullptr;
  bool stopped_ = false;
};

} // namespace penstock::apps::bench
