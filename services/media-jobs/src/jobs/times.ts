const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** How long a worker has a job without a sign of life. */
export const LEASE_MS = 15 * SECOND_MS;
/** What a process that is told to stop lets end: an image that is nearly there need not be rendered again. */
export const GRACE_MS = 20 * SECOND_MS;
/** How often a process looks for something to do, unless it knows of something. */
export const LOOK_MS = 250;

/** How long a job may wait for its turn. A client that waits for its images does so for less. */
export const QUEUE_MS = { image: HOUR_MS, audio: HOUR_MS, video: 2 * HOUR_MS, waitedFor: MINUTE_MS } as const;
/** How long a job may be rendered, all attempts together. */
export const RUN_TIMES = {
  waitedForMs: 95 * SECOND_MS,
  imageMs: 10 * MINUTE_MS,
  audioMs: 20 * MINUTE_MS,
  videoMs: 30 * MINUTE_MS,
};
/** How long a clip waits at its backend for the object store. */
export const STORE_MS = HOUR_MS;

/** What a client can see of a job that has ended, it sees for so long. */
export const SHOWN_MS = 24 * HOUR_MS;
/** A clip and its prompt are removed between 24 and 48 hours after the job's end, and all else as soon as nobody sees it. */
export const VIDEO_KEPT_MS = SHOWN_MS + 5 * MINUTE_MS;
/** By then a worker whose job was cancelled has noticed, and stores nothing of it any more. */
export const CANCELLED_KEPT_MS = MINUTE_MS;
/** What a client waited for lies there for a retry of its call. */
export const WAITED_FOR_KEPT_MS = 10 * MINUTE_MS;
/** For so long a call that is tried again gets the job of the first try. */
export const RETRY_MS = 10 * MINUTE_MS;
/** How long a call may take from its claim to its job. */
export const CLAIM_MS = MINUTE_MS;
/** How often the claim of a call that runs is renewed. */
export const CLAIM_BEAT_MS = 15 * SECOND_MS;
/** Longest wait of the end of an answer until the answer is kept for retries. */
export const KEEP_MS = 2 * SECOND_MS;
/** How long a job waits for the word of its creator that it knows of it: until then it can be undone at no cost. */
export const IN_DOUBT_MS = 30 * SECOND_MS;
/** Longest time that a creation whose row is in doubt holds money. No process begins a job of it later than `IN_DOUBT_MS`. */
export const UNDO_MS = MINUTE_MS;
/** What has not been removed by then is overdue. */
export const REMOVAL_ALARM_MS = 36 * HOUR_MS;

/** Attempts that may have rendered something. */
export const MOST_ATTEMPTS = 2;
