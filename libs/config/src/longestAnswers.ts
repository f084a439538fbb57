/** The settings that bound how long a call of a client may take. */
export interface CallTimeouts {
  IMAGES_TIMEOUT_MS: number;
  WHOLE_TIMEOUT_MS: number;
  STREAM_TIMEOUT_MS: number;
}

/**
 * The time that a call may wait apart from its images and its engine. It covers image slots, prompt counts, auth,
 * balances and Redis, each a few times for a second or two. It also covers the record of the call's end.
 */
const GATES_MS = 30_000;

/**
 * Longest that the router says nothing about a call it works on: as long as a whole answer may take. A stream says something
 * every few seconds once it has its headers. Longer than that, the router hangs.
 */
export const toLongestSilenceMs = ({ IMAGES_TIMEOUT_MS, WHOLE_TIMEOUT_MS }: CallTimeouts): number =>
  IMAGES_TIMEOUT_MS + GATES_MS + WHOLE_TIMEOUT_MS;

/**
 * Longest silence of media-jobs about a call in progress. It covers the longest non-streaming response of a media
 * engine, and the wait of a client for its images.
 */
export const LONGEST_MEDIA_SILENCE_MS = 660_000;

/** How long the edge, told to stop, lets calls go on: whole answers end within, and streams as long as routers let them. */
export const toLongestCallMs = ({ IMAGES_TIMEOUT_MS, WHOLE_TIMEOUT_MS, STREAM_TIMEOUT_MS }: CallTimeouts): number =>
  IMAGES_TIMEOUT_MS + GATES_MS + Math.max(WHOLE_TIMEOUT_MS, STREAM_TIMEOUT_MS);
