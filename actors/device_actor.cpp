#include "actors/device_actor.hpp"

#include <caf/send.hpp>

namespace penstock::actors {

caf::behavior device_actor(caf::event_based_actor*, gpu::device* device, caf::actor owner,
                           std::function<void()> at_start, step_watch watch) {
  if (at_start)
    at_start();
  return {
    [device, owner, watch](const step_ptr& work) {
      if (watch.health != nullptr)
        watch.health->work_began(watch.time->now());
      device->submit(std::move(*work), [owner, watch](gpu::step_output output) {
        if (watch.health != nullptr)
          watch.health->work_ended(watch.time->now());
        caf::anon_send(owner, std::move(output));
      });
    },
  };
}

} // namespace penstock::actors
