/**
 * The constants of the engines, by what they bound. Units stand last in the names; counts, parts and factors have none. What an
 * operator may want to change is a setting instead (`config.ts`); what the wire of an engine dictates stands in its dialect, and
 * how a prompt is cut into blocks in `promptPrefix.ts`.
 */

/* Connections to engines. */

/** Idle time of a connection: below the 5 s after which vLLM closes one, so that no call is sent into a closing one. */
export const IDLE_CONNECTION_MS = 4_000;
/** A host in the same network answers at once, or is gone. */
export const CONNECT_TIMEOUT_MS = 1_000;
/** Connections that are opened to one engine at once: what comes above is refused as if nobody listened there. */
export const MAX_CONNECTING = 4_096;
/** Connections that are kept for the next call, of each engine. */
export const MAX_IDLE_CONNECTIONS = 512;
/** Connections for the router's own questions to one engine: as many as it may be asked to count prompts at once, and a few. */
export const MAX_QUESTIONS = 160;
/** A connection that breaks so soon was closing already: an engine that took a request and fails it takes longer, or answers. */
export const UNANSWERED_WITHIN_MS = 1_000;

/* Looking after engines. */

/** Pause between two looks at an engine that is in. */
export const ROUND_MS = 2_000;
/** The same of one that is out, which should be back soon. */
export const ROUND_WHILE_OUT_MS = 500;
/** Longest wait for the answer to a check. */
export const CHECK_TIMEOUT_MS = 2_000;
/** The same for its load, which is never needed. */
export const METRICS_TIMEOUT_MS = 1_000;
/** Age of a report of load that is still heeded: three rounds, so that one may be lost. */
export const REPORT_MAX_AGE_MS = 6_000;
/** Least time between two probes of a doubted engine, whatever calls do. */
export const BETWEEN_PROBES_MS = 250;
/** Silence of an engine with calls after which it is doubted, though it may only be full. */
export const SILENCE_MS = 10_000;
/** An engine whose calls heard from it so lately works, whatever becomes of new connections and probes. */
export const HEARD_WITHIN_MS = 2_000;
/** Pause between two comparisons of a model's engines. */
export const OUTLIER_ROUND_MS = 1_000;

/* Tokens, where the router has no tokenizer. */

/** Nominal, for the size of a cache: what it makes too large is corrected by what engines count. */
export const BYTES_PER_TOKEN = 4;
/** Weight of a token of an answer beside one of a prompt: prompts are computed many tokens at a time. */
export const OUTPUT_TOKEN_WEIGHT = 4;
/** Bytes of prompts in a cache of unknown size: some eight million tokens, more than most hold. */
export const DEFAULT_CACHE_BYTES = 33_554_432;
/**
 * Part of the expected blocks that an engine has to have had, or it has dropped something. Not all of a prompt has as many bytes
 * to a token as the rest, so a small difference says nothing.
 */
export const LEAST_HELD = 0.9;
/** A whole answer does not say when its prompt was computed; it counts as computed after so long. */
export const WHOLE_PROMPT_MS = 1_000;

/* Which engine a call goes to. */

/** A first event is late once it takes this many times as long as it usually does … */
export const LATE_FACTOR = 2;
/** … and longer than this: what nobody feels is no reason. */
export const LATE_MS = 100;
/** The cost of a call before its first event whatever its prompt is, in tokens of a prompt: a step of the engine, and the way. */
export const FIXED_TOKENS = 400;
/** No engine reads a prompt more quickly, 100,000 tokens a second: more of it was cached than was thought. */
export const LEAST_MS_PER_TOKEN = 0.01;
/** An answer with fewer tokens says little of a pace: they may come in one event. */
export const MIN_PACED_TOKENS = 8;
/** First events that tell how quick an engine is now; the quickest counts … */
export const LATEST_FIRST_EVENTS = 3;
/** … and streams, of which more are held up by clients. */
export const LATEST_STREAMS = 8;
/** Calls that tell how quick it usually is. */
export const USUAL_CALLS = 32;
/** Fewer calls say nothing of a pace. */
export const MIN_PACED_CALLS = 3;

/* Limits of the gossip between routers. */

/** After so long a prompt that another router has sent is taken for computed, where that is not told: a long one takes its time. */
export const OTHERS_PROMPT_MS = 10_000;

/* How much an engine is given. */

/** Tokens of prompts that an engine has to compute first: a step of its usual budget, and the next one is full as well. */
export const PROMPT_TOKENS_AHEAD = 8_192;
/** Reports of a queue before there is less room: one may have caught a burst on its way in. */
export const REPORTS_BEFORE_LESS = 2;
/** Calls that begin within this time may wait in the engine. It never runs dry, and no call waits there longer. */
export const ENGINE_QUEUE_MS = 1_000;
/** The factor by which a limit that was felt grows, while little waits. */
export const ROOM_STEP_FACTOR = 1.25;
/** Most that a limit becomes: an engine whose calls share most of their prompts carries many times what its cache holds. */
export const MOST_ROOM_FACTOR = 8;
/** Part that is left of what was under way on an engine that says it is full. */
export const AFTER_BUSY_SHARE = 0.8;
/** For so long an engine gets no call after it has said that it is full, twice as long each time … */
export const FIRST_CLOSED_MS = 250;
/** … up to this: it is no fault, and room is wanted. */
export const LONGEST_CLOSED_MS = 8_000;
/** Calls that an engine is always thought to carry, or the mean of them in tokens: a report is no exact measure. */
export const LEAST_ROOM_CALLS = 4;
/** Work that a key gives back within this time is soon enough for others: no call waits longer for its turn. */
export const SOON_MS = 20_000;

/* Counting prompts. */

/** For all questions of a call together: a prompt that cannot be counted by then is judged by its bytes. */
export const COUNT_TIMEOUT_MS = 2_000;
/** Part of `COUNT_TIMEOUT_MS` that a count may wait in the queue. The rest is for the engine. */
export const COUNT_TURN_MS = 1_000;
/** Questions of one call at once: a list of texts has one each. */
export const COUNTS_AT_ONCE = 16;
/** Engines that one question goes to at most: a prompt that breaks them must not go round the fleet. */
export const COUNT_ENGINES = 2;

/* Finding engines. */

/** Entries of an engines file: more are a mistake. */
export const MAX_ENTRIES = 1_000;
/** More addresses than this behind one entry are a mistake, and the rest is left out. */
export const MAX_ADDRESSES = 500;
/** How old what is known of a name or a service may be. */
export const ADDRESSES_ROUND_MS = 3_000;
/** Longest wait for the cluster's API. */
export const CLUSTER_TIMEOUT_MS = 3_000;
/** Slices in one answer of the cluster's API … */
export const CLUSTER_PAGE_SIZE = 500;
/** … and answers: more than any service has. */
export const MAX_CLUSTER_PAGES = 10;
/** Longest wait for a name server, which is asked twice. */
export const DNS_TIMEOUT_MS = 2_000;
/** Age of what an operator said on another router. */
export const DRAINS_ROUND_MS = 2_000;
