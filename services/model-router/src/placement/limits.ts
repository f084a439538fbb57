import { MIN_PACED_TOKENS } from '../engines/terms/limits.ts';

/** The constants of placement and of the queue, each with its unit and reason. */

/* Tokens, where the router has no tokenizer. */

/** Weight of a new call in a model's averages: some fifty calls are remembered. */
export const LEARNING_RATE = 0.02;
/** Expected tokens of an answer before anything was learned. */
export const FIRST_OUTPUT_TOKENS = 256;

/* Which engine a call goes to. */

/** Tokens that an engine may be busier than the idlest before a prefix nobody has seen goes elsewhere than home: a step. */
export const HOME_SPILL_TOKENS = 8_192;
/** An engine is slow that takes this many times as long as the others, for a first event or for a token of a stream … */
export const SLOW_FACTOR = 4;
/** … and this much longer for the first event of the shortest call: what nobody feels is no reason. */
export const SLOW_MS = 100;
/** About as much of a prompt as a call has to have computed, so that the time of a trial and a call says the same … */
export const TRIAL_PROMPT_TOKENS = 1_000;
/** … but no more than this part of an engine's window. */
export const TRIAL_WINDOW_SHARE = 0.5;
/** Enough for the pace of a stream to show. */
export const TRIAL_OUTPUT_TOKENS = 2 * MIN_PACED_TOKENS;
/** Times that the pause after a trial is as long as the trial: trials take a tenth of an engine's time at most … */
export const TRIAL_PAUSE_FACTOR = 9;
/** … and begin so long after the last one at the earliest, also where that failed at once. */
export const LEAST_TRIAL_PAUSE_MS = 1_000;

/* Limits of the gossip between routers. */

/** Pause between two things that a router tells the others: what they do not know yet sends calls to the wrong engine … */
export const TELL_MS = 50;
/** … and so much of it for each router at least: each hears all others, so many of them would take Redis the square of it … */
export const TELL_MS_PER_ROUTER = 5;
/** … but no more than this, however many there are. */
export const LONGEST_TELL_MS = 500;
/** A router tells something after so long, though nothing has changed: it may not have been heard, and listens whether it is. */
export const TELL_AGAIN_MS = 500;
/** A router that was not heard for so long has no work any more; one that lives is heard some times in it. */
export const ROUTER_SILENT_MS = 2_000;
/** A router that has not heard itself for so long hears no other either, and connects anew. */
export const ECHO_MS = 3_000;
/** Blocks of prompts that are told at once, which take a listener some ten milliseconds: what is beyond is told to nobody. */
export const MAX_TOLD_BLOCKS = 20_000;

/* Waiting for an engine. */

/** How often those that wait are looked at when nothing ends: engines come in, say how full they are, or time runs out. */
export const QUEUE_LOOK_MS = 100;
/** Prompts that have to be computed first keep calls waiting for less: room that is full of streams does so for longer. */
export const FULL_MS = 1_000;
/** A client that reads takes what a socket holds in less; a slow line takes some of it. */
export const UNREAD_MS = 5_000;
/** Longest `Retry-After`: the estimate behind it is worth no more. */
export const MAX_RETRY_AFTER_SECONDS = 10;
/** Turns are counted in slots of this length … */
export const TURN_SLOT_MS = 250;
/** … for so long. */
export const TURN_WINDOW_MS = 10_000;
/** A shorter time says nothing of the next turns. */
export const MIN_TURN_MS = 1_000;
