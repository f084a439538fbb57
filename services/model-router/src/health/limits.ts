/** The constants of health, each with its unit and reason. */

/* Looking after engines. */

/** Consecutive missed checks after which an engine is out, because a busy one may miss one. */
export const MAX_MISSED_CHECKS = 2;

/* Leaving engines out. */

/** The breaker's first pause, doubled each time … */
export const FIRST_PAUSE_MS = 1_000;
/** … up to this, because a probe a minute costs nothing. */
export const LONGEST_PAUSE_MS = 60_000;
/** Time in use after which an engine's pauses begin at the shortest again. */
export const TRUSTED_AFTER_MS = 60_000;
/**
 * Failed calls after which an engine gets no more until it produces a token, because an engine that fails at once looks
 * idle.
 */
export const DOUBTS_TO_SUSPEND = 3;
/** Consecutive failed calls after which an engine is out, although it produces tokens for the router … */
export const MAX_FAILURES = 5;
/** … of at least so many workspaces, because one workspace's calls may cause failures themselves. */
export const MIN_FAILED_WORKSPACES = 2;
/** Most age of a workspace's last call that counts. */
export const VOTES_WINDOW_MS = 30_000;
/** Workspaces remembered for one engine, to bound memory. */
export const MAX_VOTES = 256;
/** Least workspaces of a comparison. */
export const MIN_VOTES = 5;
/** Failed share of workspaces (0 to 1) above the median from which an engine is an outlier. */
export const FAILED_SHARE_ABOVE = 0.3;

/* Trying calls again. */

/** Time over which calls and retries are counted. */
export const RETRY_WINDOW_SECONDS = 30;
/** Retries as a part of the calls, because more would load a fleet in trouble. */
export const MAX_RETRY_SHARE = 0.1;
/** Least retries of a window, for any number of calls. */
export const MIN_RETRIES = 10;
