import { MIN_PACED_TOKENS } from '../engines/terms/limits.ts';

/** The constants of placement and of the queue, each with its unit and reason. */

/* Tokens, where the router has no tokenizer. */

/** Weight of a new call in a model's averages, which remember some fifty calls. */
export const LEARNING_RATE = 0.02;
/** Expected tokens of an answer before any was seen. */
export const FIRST_OUTPUT_TOKENS = 256;

/* Which engine a call goes to. */

/**
 * Tokens by which a hashed engine may be busier than the least busy one before a new prefix goes there: one engine
 * step.
 */
export const HOME_SPILL_TOKENS = 8_192;
/** Factor above the other engines' pace from which an engine is slow, for first events or for tokens of a stream … */
export const SLOW_FACTOR = 4;
/** … and at least so much longer for the first event of the shortest call, because clients do not notice less. */
export const SLOW_MS = 100;
/** Tokens of a trial's prompt, close to the uncached part of a usual call, so that their times compare … */
export const TRIAL_PROMPT_TOKENS = 1_000;
/** … but no more than this part of an engine's window. */
export const TRIAL_WINDOW_SHARE = 0.5;
/** Tokens of a trial's answer, enough to show the pace of a stream. */
export const TRIAL_OUTPUT_TOKENS = 2 * MIN_PACED_TOKENS;
/** Pause after a trial as a multiple of its length, so that trials take a tenth of an engine's time at most … */
export const TRIAL_PAUSE_FACTOR = 9;
/** … and the least pause, also after a trial that failed at once. */
export const LEAST_TRIAL_PAUSE_MS = 1_000;

/* Limits of the gossip between routers. */

/** Pause between two messages of a router. Until a message, other routers may choose the wrong engine … */
export const TELL_MS = 50;
/**
 * … and its least length for each router, because each message goes to all routers and the load on Redis grows with
 * their square …
 */
export const TELL_MS_PER_ROUTER = 5;
/** … and its most length for any number of routers. */
export const LONGEST_TELL_MS = 500;
/**
 * Pause after which a router repeats its message without a change: the last may be lost, and it checks its own
 * subscription.
 */
export const TELL_AGAIN_MS = 500;
/** Silence after which a router counts as stopped; a live one sends several messages in that time. */
export const ROUTER_SILENT_MS = 2_000;
/** Time without its own messages after which a router reconnects, because it misses others' messages too. */
export const ECHO_MS = 3_000;
/** Most blocks of prompts in one message, some ten milliseconds of work for each reader. Further blocks are dropped. */
export const MAX_TOLD_BLOCKS = 20_000;

/* Waiting for an engine. */

/** Interval of checks while calls wait and no call ends: engines return, report their load, and timeouts pass. */
export const QUEUE_LOOK_MS = 100;
/** Wait of another key's call before an unread stream is cut. Prompts being computed delay calls for less. */
export const FULL_MS = 1_000;
/**
 * Time after which a stream counts as unread. A reading client empties a socket sooner, and a slow line takes a part of
 * it.
 */
export const UNREAD_MS = 5_000;
/** Longest `Retry-After`, because the estimate is not exact beyond it. */
export const MAX_RETRY_AFTER_SECONDS = 10;
/** Turns are counted in slots of this length … */
export const TURN_SLOT_MS = 250;
/** … over this window. */
export const TURN_WINDOW_MS = 10_000;
/** Least time that shows the rate of turns. */
export const MIN_TURN_MS = 1_000;
