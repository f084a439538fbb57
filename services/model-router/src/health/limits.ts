/** The constants of health, each with its unit and reason. */

/* Looking after engines. */

/** Checks missed on end after which an engine is out: a busy one may be late once. */
export const MAX_MISSED_CHECKS = 2;

/* Leaving engines out. */

/** The breaker's first pause, twice as long each time … */
export const FIRST_PAUSE_MS = 1_000;
/** … up to this: a probe a minute costs nothing. */
export const LONGEST_PAUSE_MS = 60_000;
/** Time in after which an engine begins with the shortest pause again. */
export const TRUSTED_AFTER_MS = 60_000;
/** Failed calls after which an engine gets no more until it has produced a token: one that fails at once looks idle. */
export const DOUBTS_TO_SUSPEND = 3;
/** Failed calls on end after which an engine is out, though it produces tokens for us … */
export const MAX_FAILURES = 5;
/** … of so many workspaces: what one workspace's own calls do is no proof against an engine. */
export const MIN_FAILED_WORKSPACES = 2;
/** Age of a workspace's last call on an engine that still counts. */
export const VOTES_WINDOW_MS = 30_000;
/** Callers remembered of one engine: memory, not meaning. */
export const MAX_VOTES = 256;
/** Fewer workspaces than this are no vote. */
export const MIN_VOTES = 5;
/** An engine stands out that fails this much more of its workspaces, of 1, than the fleet's median does. */
export const FAILED_SHARE_ABOVE = 0.3;

/* Trying calls again. */

/** Time over which calls and retries are counted. */
export const RETRY_WINDOW_SECONDS = 30;
/** Retries as a part of the calls: more would load a fleet that is already in trouble. */
export const MAX_RETRY_SHARE = 0.1;
/** Retries allowed in a window however few calls there were. */
export const MIN_RETRIES = 10;
