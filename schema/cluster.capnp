# What roles say to each other. The meaning of every field is in cluster_messages.hpp, in the same
# order; message.hpp converts. Append fields and bodies; never change or reuse a number.
@0x88c980f8c8fca02e;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("penstock::schema::wire");

struct NodeRef {
  node @0 :UInt32;
  incarnation @1 :UInt64;
}

struct Envelope {
  fromNode @0 :UInt32;
  fromIncarnation @1 :UInt64;
  toNode @2 :UInt32;
  toIncarnation @3 :UInt64;
  toRole @4 :UInt8;  # schema::role
  request @5 :UInt64;
  attempt @6 :UInt32;
  budgetUs @7 :UInt64;

  body :union {
    unknown @8 :Void;  # The default, so that an all-zero message is nobody's.
    admit @9 :Admit;
    admitted @10 :Admitted;
    retire @11 :Void;
    screen @12 :Screen;
    verdict @13 :Verdict;
    place @14 :Place;
    placed @15 :Placed;
    refused @16 :Refused;
    book @17 :Book;
    booked @18 :Booked;
    prefill @19 :Prefill;
    begin @20 :Begin;
    published @21 :Published;
    landed @22 :Void;
    prefilled @23 :Prefilled;
    arrived @24 :Arrived;
    tokens @25 :Tokens;
    cancel @26 :Cancel;
    heartbeat @27 :Heartbeat;
    peerDown @28 :NodeRef;
  }
}

struct Admit {
  promptTokens @0 :UInt32;
  tokensMax @1 :UInt32;
}

struct Admitted {
  waitedUs @0 :UInt64;
}

struct Screen {
  text @0 :Text;
}

struct Verdict {
  allowed @0 :Bool;
  timedOut @1 :Bool;
  rule @2 :Text;
  tookUs @3 :UInt64;
}

struct Place {
  promptTokens @0 :UInt32;
  tokensMax @1 :UInt32;
  avoid @2 :List(NodeRef);
}

struct Placed {
  prefill @0 :NodeRef;
  decode @1 :NodeRef;
}

struct Refused {
  code @0 :UInt8;  # errc
  detail @1 :Text;
  retryAfterUs @2 :UInt64;
}

struct Book {
  prefill @0 :NodeRef;
  tokens @1 :List(UInt32);
  promptTokens @2 :UInt32;
  temperature @3 :Float32;
  seed @4 :UInt64;
  tokensMax @5 :UInt32;
  ignoreEnd @6 :Bool;
  endIds @7 :List(UInt32);
  topK @8 :UInt32;
  topP @9 :Float32 = 1;
  minP @10 :Float32;
  repetitionPenalty @11 :Float32 = 1;
  tokensMin @12 :UInt32;
  stopIds @13 :List(UInt32);
  topLogprobs @14 :UInt32;
  priority @15 :UInt8;  # priority_class
  cacheScope @16 :Text;
  cacheTokensMax @17 :UInt32 = 0xffffffff;
}

struct Booked {
  cachedTokens @0 :UInt32;
}

struct Prefill {
  decode @0 :NodeRef;
  tokens @1 :List(UInt32);
  skip @2 :UInt32;
  priority @3 :UInt8;  # priority_class
  cacheScope @4 :Text;
  cacheTokensMax @5 :UInt32 = 0xffffffff;
}

struct Begin {
  tokens @0 :UInt32;
  skip @1 :UInt32;
}

struct Published {
  firstIndex @0 :UInt32;
  sourceBlocks @1 :List(UInt32);
  generations @2 :List(UInt64);
  digests @3 :List(UInt64);
  last @4 :Bool;
}

struct Prefilled {
  queueUs @0 :UInt64;
  computeUs @1 :UInt64;
  computedTokens @2 :UInt32;
  cachedTokens @3 :UInt32;
}

struct Arrived {
  transferUs @0 :UInt64;
  exposedUs @1 :UInt64;
  bytes @2 :UInt64;
  tokens @3 :UInt32;
  transport @4 :Text;
}

struct Tokens {
  rows @0 :List(Row);

  struct Row {
    request @0 :UInt64;
    attempt @1 :UInt32;
    firstIndex @2 :UInt32;
    ids @3 :List(UInt32);
    logprobs @4 :List(Float32);  # One per id.
    finished @5 :Bool;
    reason @6 :UInt8;  # finish_reason
    topIds @7 :List(UInt32);         # As many per id for every id ...
    topLogprobs @8 :List(Float32);   # ... and one of these for each of them.
  }
}

struct Cancel {
  code @0 :UInt8;  # errc
}

struct Heartbeat {
  node @0 :Text;
  version @1 :Text;
  roles @2 :List(UInt8);  # schema::role
  ready @3 :Bool;
  modelDigest @4 :Text;
  numericsId @5 :Text;
  kvGeometry @6 :Data;
  kvSource @7 :Data;
  kvSourceBlocks @8 :UInt32;
  queuedTokens @9 :UInt32;
  runningRows @10 :UInt32;
  blocksFree @11 :UInt32;
  blocksCapacity @12 :UInt32;
  sequence @13 :UInt64;
}
