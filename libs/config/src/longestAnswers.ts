/** The settings that bound how long a call of a client may take. */
export interface CallTimeouts {
  IMAGES_TIMEOUT_MS: number;
  WHOLE_TIMEOUT_MS: number;
  STREAM_TIMEOUT_MS: number;
}

/**
 * The time that a call may wait beside its images and its engine: for a turn to fetch images, prompt counts, verdicts of
 * auth, balances and Redis, each a few times and for a second or two, and for the record of its end.
 */
const GATES_MS = 30_000;

/**
 * Longest that the router says nothing about a call it works on: as long as a whole answer may take. A stream says something
 * every few seconds once it has its headers. Longer than that, the router hangs.
 */
export const toLongestSilenceMs = ({ IMAGES_TIMEOUT_MS, WHOLE_TIMEOUT_MS }: CallTimeouts): number =>
  IMAGES_TIMEOUT_MS + GATES_MS + WHOLE_TIMEOUT_MS;

/**
 * Longest that media-jobs says nothing about a call it works on: as long as a whole answer of a media engine may take, or a client that
 * waits for its images.
 */
export const LONGEST_MEDIA_SILENCE_MS = 660_000;

/** How long the edge, told to stop, lets calls go on: whole answers end within, and streams as long as routers let them. */
export const toLongestCallMs = ({ IMAGES_TIMEOUT_MS, WHOLE_TIMEOUT_MS, STREAM_TIMEOUT_MS }: CallTimeouts): number =>
  IMAGES_TIMEOUT_MS + GATES_MS + Math.max(WHOLE_TIMEOUT_MS, STREAM_TIMEOUT_MS);
