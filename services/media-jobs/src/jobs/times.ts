const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Lease of a worker on a job. */
export const LEASE_MS = 15 * SECOND_MS;
/** Time that a stopping process gives its jobs, so that an image that is nearly there need not be rendered again. */
export const GRACE_MS = 20 * SECOND_MS;
/** Pause between two polls for work, unless the process knows of some. */
export const POLL_MS = 250;

/** Longest wait of a job for its turn, shorter for a client that waits for its images. */
export const QUEUE_MS = { image: HOUR_MS, audio: HOUR_MS, video: 2 * HOUR_MS, waitedFor: MINUTE_MS } as const;
/** Longest rendering of a job, all attempts together. */
export interface RunTimes {
  /** For images that a client waits for, counted from the creation of the job. The others count from the first attempt. */
  waitedForMs: number;
  imageMs: number;
  audioMs: number;
  videoMs: number;
}
export const RUN_TIMES: RunTimes = {
  waitedForMs: 95 * SECOND_MS,
  imageMs: 10 * MINUTE_MS,
  audioMs: 20 * MINUTE_MS,
  videoMs: 30 * MINUTE_MS,
};
/** Longest wait of a clip at its backend for the object store. */
export const STORE_MS = HOUR_MS;

/** Time for which a client sees an ended job. */
export const SHOWN_MS = 24 * HOUR_MS;
/**
 * Time until a clip and its prompt are removed: between 24 and 48 hours. Other data is removed once its client no
 * longer sees it.
 */
export const VIDEO_KEPT_MS = SHOWN_MS + 5 * MINUTE_MS;
/** Time within which a worker notices that its job was cancelled, and stores nothing more. */
export const CANCELLED_KEPT_MS = MINUTE_MS;
/** Time for which outputs that a client waited for are kept for a retry of the call. */
export const WAITED_FOR_KEPT_MS = 10 * MINUTE_MS;
/** Time for which a retry of a call gets the job of the first try. */
export const RETRY_MS = 10 * MINUTE_MS;
/** Longest time from the claim of a call to its job. */
export const CLAIM_MS = MINUTE_MS;
/** Pause between renewals of the claim of a call that runs. */
export const CLAIM_BEAT_MS = 15 * SECOND_MS;
/** Longest wait of the end of an answer until the answer is kept for retries. */
export const KEEP_MS = 2 * SECOND_MS;
/** Longest wait of a job until its creator has seen the row. Until then the job can be undone at no cost. */
export const IN_DOUBT_MS = 30 * SECOND_MS;
/** Longest time that a creation whose row is in doubt holds money. No process begins a job of it later than `IN_DOUBT_MS`. */
export const UNDO_MS = MINUTE_MS;
/** Age at which bytes that are not removed are overdue. */
export const REMOVAL_ALARM_MS = 36 * HOUR_MS;

/** Attempts that may have rendered something. */
export const MOST_ATTEMPTS = 2;
