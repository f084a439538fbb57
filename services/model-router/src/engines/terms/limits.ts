/**
 * The constants of the engines. Units are last in the names; counts, parts and factors have none. Values that an
 * operator may change are settings (`config.ts`). Constants of an engine's format are in its dialect, and the block
 * sizes of prompts are in `promptPrefix.ts`.
 */

/* Connections to engines. */

/** Idle time after which a connection is closed, below vLLM's 5 s, so that no call is sent into a closing one. */
export const IDLE_CONNECTION_MS = 4_000;
/** Longest wait for a connection: a host in the same network answers at once. */
export const CONNECT_TIMEOUT_MS = 1_000;
/** Most connections being opened to one engine. A further one fails as if nothing listened. */
export const MAX_CONNECTING = 4_096;
/** Most idle connections kept for each engine. */
export const MAX_IDLE_CONNECTIONS = 512;
/** Most connections for the router's own requests to one engine: its concurrent prompt counts, and a few more. */
export const MAX_QUESTIONS = 160;
/**
 * A connection that breaks within this time was probably closing already. An engine that fails a request takes longer
 * or answers.
 */
export const UNANSWERED_WITHIN_MS = 1_000;

/* Looking after engines. */

/** Pause between two checks of an engine that is in. */
export const ROUND_MS = 2_000;
/** Pause between two checks of an engine that is out, which should return soon. */
export const ROUND_WHILE_OUT_MS = 500;
/** Longest wait for the answer to a check. */
export const CHECK_TIMEOUT_MS = 2_000;
/** Longest wait for a load report, which no call depends on. */
export const METRICS_TIMEOUT_MS = 1_000;
/** Most age of a load report in use: three rounds, so that one may be lost. */
export const REPORT_MAX_AGE_MS = 6_000;
/** Least time between two probes of a doubted engine. */
export const BETWEEN_PROBES_MS = 250;
/** Silence of an engine with calls after which it is doubted, although it may only be full. */
export const SILENCE_MS = 10_000;
/** An engine that sent bytes within this time works, whatever happens to new connections and probes. */
export const HEARD_WITHIN_MS = 2_000;
/** Pause between two comparisons of a model's engines. */
export const OUTLIER_ROUND_MS = 1_000;

/* Tokens, where the router has no tokenizer. */

/** Nominal value for cache sizes. The engines' counts correct it where it is too large. */
export const BYTES_PER_TOKEN = 4;
/** Weight of a token of an answer beside one of a prompt: prompts are computed many tokens at a time. */
export const OUTPUT_TOKEN_WEIGHT = 4;
/** Bytes of prompts in a cache of unknown size: some eight million tokens, more than most hold. */
export const DEFAULT_CACHE_BYTES = 33_554_432;
/**
 * Least part of the expected blocks that an engine has, unless it dropped a block. The bytes per token differ within a
 * prompt, so a small difference means nothing.
 */
export const LEAST_HELD = 0.9;
/** Time after which the prompt of a non-streaming call counts as computed, because no event shows it. */
export const WHOLE_PROMPT_MS = 1_000;

/* Which engine a call goes to. */

/** A first event is late once it takes this many times as long as it usually does … */
export const LATE_FACTOR = 2;
/** … and at least so much longer, because clients do not notice less. */
export const LATE_MS = 100;
/** Cost of a call before its first event, apart from its prompt, in prompt tokens: one engine step and the network. */
export const FIXED_TOKENS = 400;
/**
 * Lower bound: no engine computes a prompt faster (100,000 tokens a second). A smaller value means that more was cached
 * than expected.
 */
export const LEAST_MS_PER_TOKEN = 0.01;
/** Least tokens of an answer that shows a pace, because fewer may come in one event. */
export const MIN_PACED_TOKENS = 8;
/** Number of first events that show the current pace; the fastest counts … */
export const LATEST_FIRST_EVENTS = 3;
/** … and number of streams, more of which are delayed by clients. */
export const LATEST_STREAMS = 8;
/** Number of calls that show the usual pace. */
export const USUAL_CALLS = 32;
/** Least calls that show a pace. */
export const MIN_PACED_CALLS = 3;

/* Limits of the gossip between routers. */

/**
 * Time after which another router's prompt counts as computed, because routers do not report it. Long prompts take
 * their time.
 */
export const OTHERS_PROMPT_MS = 10_000;

/* How much an engine is given. */

/**
 * Most tokens of prompts that an engine has still to compute: one step of its usual budget, so that the next step is
 * full too.
 */
export const PROMPT_TOKENS_AHEAD = 8_192;
/** Reports of a queue before the room falls, because one may show a burst on its way in. */
export const REPORTS_BEFORE_LESS = 2;
/** Calls that begin within this time may wait in the engine. It never runs dry, and no call waits there longer. */
export const ENGINE_QUEUE_MS = 1_000;
/** The factor by which a limit that was felt grows, while little waits. */
export const ROOM_STEP_FACTOR = 1.25;
/** Most growth of a limit, because calls with mostly equal prompts fit many times into an engine's cache. */
export const MOST_ROOM_FACTOR = 8;
/** Part of the load that stays the limit after an engine reported to be full. */
export const AFTER_BUSY_SHARE = 0.8;
/** Pause of calls after an engine reported to be full, doubled each time … */
export const FIRST_CLOSED_MS = 250;
/** … up to this, because a full engine is healthy and needed. */
export const LONGEST_CLOSED_MS = 8_000;
/** Least limit of an engine, in calls or their mean in tokens, because reports are not exact. */
export const LEAST_ROOM_CALLS = 4;
/** Time within which a key's calls end soon enough for other keys: the longest wait for a turn. */
export const SOON_MS = 20_000;

/* Counting prompts. */

/** Longest count of a prompt, over all its questions. After it the byte bound decides. */
export const COUNT_TIMEOUT_MS = 2_000;
/** Part of `COUNT_TIMEOUT_MS` that a count may wait in the queue. The rest is for the engine. */
export const COUNT_TURN_MS = 1_000;
/** Concurrent questions of one call. A list of texts has one for each text. */
export const COUNTS_AT_ONCE = 16;
/** Most engines that one question goes to, so that a prompt that breaks engines does not reach the whole fleet. */
export const COUNT_ENGINES = 2;

/* Finding engines. */

/** Most entries of an engines file; more are a mistake. */
export const MAX_ENTRIES = 1_000;
/** Most addresses of one entry. More are a mistake, and the rest is ignored. */
export const MAX_ADDRESSES = 500;
/** Most age of the addresses of a name or a service. */
export const ADDRESSES_ROUND_MS = 3_000;
/** Longest wait for the cluster's API. */
export const CLUSTER_TIMEOUT_MS = 3_000;
/** Slices in one answer of the cluster's API … */
export const CLUSTER_PAGE_SIZE = 500;
/** … and most pages, above the size of any service. */
export const MAX_CLUSTER_PAGES = 10;
/** Longest wait for a name server, which is queried twice. */
export const DNS_TIMEOUT_MS = 2_000;
/** Most age of the list of cordoned engines. */
export const DRAINS_ROUND_MS = 2_000;
