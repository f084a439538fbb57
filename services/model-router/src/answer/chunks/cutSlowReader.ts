import type { ServerResponse } from 'node:http';

/**
 * Destroys a response that has been ended but not read: what its client has not taken waits in our memory. Only standing
 * still counts, so a long answer on a thin line arrives. It is cut when nothing has moved for `timeoutMs`, which is noticed
 * after twice that at the latest.
 */
export function cutSlowReader(res: ServerResponse, timeoutMs: number): void {
  // The socket's own timer: it starts again while its write queue shrinks, and goes back to its keep-alive afterwards.
  res.setTimeout(timeoutMs, () => res.destroy());
}
