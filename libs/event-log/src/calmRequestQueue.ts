import { createRequire } from 'node:module';

/** What is used here of the queue that kafkajs 2.2.4 has before each connection. */
interface RequestQueue {
  pending: unknown[];
  /** In milliseconds of the Unix time. */
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

/** As kafkajs has it. */
const CHECK_PENDING_REQUESTS_MS = 10;

const { prototype: queue }: { prototype: RequestQueue } = createRequire(import.meta.url)(
  'kafkajs/src/network/requestQueue/index.js',
);

/**
 * Has kafkajs look at requests that wait only where any does. By itself 2.2.4 looks at each connection a thousand times a second from
 * its first answer on, as it sets a timer to a moment that has passed (its issue 1751): that was most of what a process without calls
 * did, and Node complained about the timer.
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
