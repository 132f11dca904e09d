#include "actors/device_actor.hpp"

#include <caf/send.hpp>

namespace penstock::actors {

caf::behavior device_actor(caf::event_based_actor*, gpu::device* device, caf::actor owner,
                           std::function<void()> at_start) {
  if (at_start)
    at_start();
  return {
    [device, owner](const step_ptr& work) {
      device->submit(std::move(*work), [owner](gpu::step_output output) {
        caf::anon_send(owner, std::move(output));
      });
    },
  };
}

} // namespace penstock::actors
