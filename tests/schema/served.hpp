// A server with a fake service behind it, and a client of it.
#pragma once

#include "fake_service.hpp"
#include "schema/rpc_client.hpp"
#include "schema/rpc_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace penstock::schema::testing {

// A server and where it is.
struct served {
  explicit served(fake_service::script script = {}, rpc_server_options options = {})
    : service(std::move(script)), server(service, options) {
    auto port = server.start();
    EXPECT_TRUE(port) << port.err().text();
    address = "127.0.0.1:" + std::to_string(*port);
  }

  std::unique_ptr<rpc_client> connect() {
    auto client = rpc_client::connect(address, std::chrono::seconds{10});
    EXPECT_TRUE(client) << client.err().text();
    return client ? std::move(*client) : nullptr;
  }

  fake_service service;
  rpc_server server;
  std::string address;
};

// What a handler was given.
struct reply {
  std::vector<generated_token> tokens;
  std::string text;
  size_t calls = 0;

  rpc_client::token_handler handler() {
    return [this](std::span<const generated_token> t, std::string_view s) {
      tokens.insert(tokens.end(), t.begin(), t.end());
      text += s;
      ++calls;
      return true;
    };
  }
};

} // namespace penstock::schema::testing
