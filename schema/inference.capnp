# Penstock's client API. One connection to a gateway; its bootstrap capability is an Inference.
#
# A request ends exactly once, with TokenSink.done(), also when it is refused. It is cancelled when
# its ticket is cancelled or dropped, or when the connection goes away: keep the ticket until
# done(). Append fields and methods; never change or reuse a number.
@0xc58e5f4663f936f8;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("penstock::schema::wire");

# Limits. A request beyond one is refused with invalid_argument, naming the field and the limit.
const modelBytesMax :UInt32 = 256;
const promptBytesMax :UInt32 = 8388608;
const promptIdsMax :UInt32 = 1048576;
const temperatureMax :Float32 = 10;
const tokensMaxMax :UInt32 = 1048576;
const repetitionPenaltyMax :Float32 = 10;
const topLogprobsMax :UInt32 = 20;
const stopIdsMax :UInt32 = 64;
const stopStringsMax :UInt32 = 16;
const stopStringBytesMax :UInt32 = 256;
const replyPrefixBytesMax :UInt32 = 65536;
const tenantBytesMax :UInt32 = 64;
const cacheSaltBytesMax :UInt32 = 128;
const budgetUsMax :UInt64 = 3600000000;  # One hour.
# A message beyond this closes the connection: it cannot be read to see what it asks.
const messageBytesMax :UInt32 = 16777216;

interface Inference {
  # Starts a request. Returns at once; tokens go to `sink`. Both stay alive until done().
  generate @0 (request :GenerateRequest, sink :TokenSink) -> (ticket :Ticket);

  # What this gateway serves.
  info @1 () -> (info :ServiceInfo);
}

# Implemented by the client.
interface TokenSink {
  # New tokens in order, as many as are ready. A slow sink is sent fewer, larger pushes.
  # ids and logprobs have the same length; both may be empty when only text became final.
  # topIds and topLogprobs: GenerateRequest.topLogprobs of each per id (fewer if the vocabulary has
  # fewer), those of the first id first, the likeliest first.
  push @0 (ids :List(UInt32), logprobs :List(Float32), text :Text, topIds :List(UInt32),
           topLogprobs :List(Float32)) -> stream;

  # The one ending; no push follows.
  done @1 (outcome :Outcome) -> ();
}

interface Ticket {
  # Asks for an early end; done() still comes. Dropping the ticket does the same.
  cancel @0 () -> ();
}

# A gateway ignores fields it does not know: Cap'n Proto cannot show them to it. Compare
# ServiceInfo.version before relying on a newer one.
struct GenerateRequest {
  model @0 :Text;                # Empty: the cluster's model.
  prompt @1 :Text;               # UTF-8; empty if promptIds are given.
  promptIds @2 :List(UInt32);    # Token ids, taken as they are.
  raw @3 :Bool;                  # Add no special tokens to `prompt`.
  temperature @4 :Float32 = 0;   # 0: greedy. In [0, temperatureMax].
  seed @5 :UInt64;               # Same seed and request, same tokens.
  tokensMax @6 :UInt32 = 128;    # Generated tokens at most, in [1, tokensMaxMax].
  ignoreEnd @7 :Bool;            # Go on after the model's end-of-sequence tokens.
  budgetUs @8 :UInt64;           # From acceptance to the last token, in [1, budgetUsMax].
  # Which tokens may be drawn at a temperature above 0; applied in this order.
  topK @9 :UInt32;               # That many of the likeliest; 0: all.
  topP @10 :Float32 = 1;         # The likeliest with that share of what topK left; in (0, 1].
  minP @11 :Float32 = 0;         # Those with that share of the likeliest's probability; in [0, 1].
  # On the logits of tokens of prompt and answer, in (0, repetitionPenaltyMax]; 1: none.
  repetitionPenalty @12 :Float32 = 1;
  tokensMin @13 :UInt32;         # Before that many, no end is drawn; in [0, tokensMax].
  stopIds @14 :List(UInt32);     # Tokens that end the answer too, and are not in it.
  # The answer ends where the first of them to be complete begins. Text that may become one is held
  # back; a token with a part in one, and all that follow, are not sent and not in usage.
  stopStrings @15 :List(Text);   # Each of 1 to stopStringBytesMax bytes of UTF-8.
  topLogprobs @16 :UInt32;       # Likeliest tokens to name beside each; in [0, topLogprobsMax].
  # UTF-8: how the answer begins. Counts as prompt, is not sent back; the answer goes on after it,
  # with nothing in between. Stop strings are not looked for in it.
  replyPrefix @17 :Text;
  priority @18 :Priority = normal;
  tenant @19 :Text;              # Whose request it is: A-Z a-z 0-9 . _ -
  # UTF-8: cached prompts are shared only among requests with the same one.
  cacheSalt @20 :Text;
}

# How urgent a request is.
enum Priority {
  interactive @0;  # A person watches it being written.
  normal @1;
  batch @2;        # Nobody waits: it may be late, and gives way first.
}

enum FinishReason {
  stop @0;       # An end token or a stop string.
  length @1;     # tokensMax or the context was reached.
  cancelled @2;
  deadline @3;   # budgetUs ran out.
  blocked @4;    # A guardrail rule.
  refused @5;    # Not accepted; the code says why.
  failed @6;     # Accepted, but could not be finished; the code says why.
}

struct Outcome {
  reason @0 :FinishReason;
  code @1 :UInt8;          # 0: no error. Else a number of base/errc.hpp ...
  codeName @2 :Text;       # ... and its name, e.g. "overloaded".
  detail @3 :Text;         # For people; empty without error.
  retryAfterUs @4 :UInt64; # A hint with "overloaded".
  exact @5 :Bool;          # Tokens are those one undisturbed node would have produced.
  usage @6 :Usage;
  timings @7 :Timings;
  placement @8 :Placement;
}

# Computed + cached = prompt tokens, always.
struct Usage {
  promptTokens @0 :UInt32;
  completionTokens @1 :UInt32;  # Those sent: no end token, no stop string's.
  cachedTokens @2 :UInt32;      # Prompt tokens whose KV was found, not computed.
  computedTokens @3 :UInt32;
  transferredTokens @4 :UInt32; # Beside: prompt tokens whose KV was moved between nodes.
  recomputedTokens @5 :UInt32;  # Beside: computed again after a failure.
}

# Microseconds; 0 where a stage did not happen.
struct Timings {
  admissionUs @0 :UInt64;
  guardrailUs @1 :UInt64;
  queueUs @2 :UInt64;
  prefillUs @3 :UInt64;
  transferUs @4 :UInt64;
  transferExposedUs @5 :UInt64;  # The part of it after prefill had ended.
  transferBytes @6 :UInt64;
  ttftUs @7 :UInt64;             # Acceptance to first token.
  totalUs @8 :UInt64;
}

# Names of the nodes that served the request.
struct Placement {
  gateway @0 :Text;
  prefill @1 :Text;
  decode @2 :Text;
  transport @3 :Text;  # How KV moved.
  attempts @4 :UInt32;
}

struct ServiceInfo {
  version @0 :Text;
  model @1 :Text;
  modelDigest @2 :Text;
  contextTokens @3 :UInt32;
  numericsId @4 :Text;
}
