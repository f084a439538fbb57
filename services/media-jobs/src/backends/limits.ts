/** The constants of this room. Units are last in the names. */

/* Connections. */

/** Idle time of a connection: below the 5 s after which the servers under these engines close one. */
export const IDLE_CONNECTION_MS = 4_000;
/** Longest wait for a connection: a host in the same network answers at once. */
export const CONNECT_TIMEOUT_MS = 1_000;
/** Most connections to one replica, above its slots, polls and contents. */
export const MAX_CONNECTIONS = 256;
/**
 * A connection that breaks within this time was probably closing already, or its engine was down, so that nothing was
 * begun.
 */
export const UNANSWERED_WITHIN_MS = 1_000;
/** Longest silence within an answer that has begun. */
export const BODY_IDLE_MS = 30_000;

/* Waits for an answer. */

/** For polls of jobs, and for requests that begin one. */
export const JOB_ANSWER_MS = 15_000;
/** The same with a file. */
export const UPLOAD_ANSWER_MS = 60_000;
/** For work during the connection: an image, a transcript, the first bytes of speech. */
export const WORK_ANSWER_MS = 600_000;
/** From the first to the last byte of an output. */
export const CONTENT_MS = 900_000;

/* The limits for reading a response. */

export const MAX_VIDEO_BYTES = 512 * 1024 ** 2;
export const MAX_IMAGE_BYTES = 32 * 1024 ** 2;
export const MAX_AUDIO_BYTES = 64 * 1024 ** 2;
/** A transcript with all fields of its segments. */
export const MAX_TRANSCRIPT_BYTES = 16 * 1024 ** 2;
/** One job. */
export const MAX_JOB_BYTES = 1024 ** 2;
/** A list of jobs: 10,000 of them have six. */
export const MAX_LIST_BYTES = 32 * 1024 ** 2;
/** Most pages of a list, so that a list without an end is not read for ever. */
export const MAX_LIST_PAGES = 1_000;
/** An error, which has one useful message. */
export const MAX_ERROR_BYTES = 64 * 1024;
/** One event of a stream of speech. */
export const MAX_EVENT_CHARACTERS = 8 * 1024 ** 2;
/** Most bytes around an image in its answer. */
export const MAX_AROUND_IMAGE_BYTES = 1024 ** 2;
/** Longest `Retry-After` in use. */
export const MAX_RETRY_AFTER_MS = 60_000;

/* The file, and looking after replicas. */

export const MAX_ENTRIES = 1_000;
/** Most slots of a replica, which renders few things at once, or each of them slowly. */
export const MAX_SLOTS = 64;
/** Between two checks of a replica that is in. */
export const CHECK_ROUND_MS = 2_000;
/** Between two checks of a replica that is out, which should return soon. */
export const CHECK_ROUND_WHILE_OUT_MS = 500;
/** Longest wait for the answer to a check. */
export const CHECK_TIMEOUT_MS = 2_000;
/** Consecutive missed checks after which a replica is out, because a busy one may be late. */
export const MAX_MISSED_CHECKS = 3;
/** How long one that refused us stays out at least, twice as long each time … */
export const FIRST_PAUSE_MS = 1_000;
/** … up to this. */
export const LONGEST_PAUSE_MS = 60_000;
/** Time in after which it begins with the shortest pause again. */
export const TRUSTED_AFTER_MS = 60_000;

/* Replicas that hang. */

/** Time with work and without an output after which a replica hangs, below the 95 s that a client waits for its images. */
export const HUNG_AFTER_MS = 60_000;
/** The same for transcripts, because a long recording takes minutes. */
export const HEAR_HUNG_AFTER_MS = 300_000;
/** The same for the answer to a new job of a video, which comes at once. */
export const SUBMIT_HUNG_AFTER_MS = 10_000;
/** Pause until a replica that hangs is tried again, twice as long each time … */
export const FIRST_REST_MS = 60_000;
/** … up to this, because each try may cost a client its job. */
export const LONGEST_REST_MS = 900_000;
