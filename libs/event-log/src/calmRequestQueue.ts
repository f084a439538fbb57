import { createRequire } from 'node:module';

/** The members used here of the queue that kafkajs 2.2.4 has before each connection. */
interface RequestQueue {
  pending: unknown[];
  /** In milliseconds of the Unix time. */
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

/** The value in kafkajs. */
const CHECK_PENDING_REQUESTS_MS = 10;

const { prototype: queue }: { prototype: RequestQueue } = createRequire(import.meta.url)(
  'kafkajs/src/network/requestQueue/index.js',
);

/**
 * Patches kafkajs to check a connection's queue only while requests wait in it. Version 2.2.4 checks each connection a
 * thousand times a second, because it sets a timer to a moment in the past (its issue 1751). These checks were most of
 * the work of a process without calls, and Node logged warnings about the timer.
 */
export function calmRequestQueue(): void {
  queue.scheduleCheckPendingRequests = function schedule(this: RequestQueue): void {
    if (this.throttleCheckTimeoutId || this.pending.length === 0) return;
    const throttledMs = this.throttledUntil - Date.now();
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttledMs > 0 ? throttledMs : CHECK_PENDING_REQUESTS_MS,
    );
  };
}
