import type { NetConnectOpts, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { openSocket } from '@turnpike/upstream-connections/upstreamConnections';

/** Waits before each attempt; behind a load balancer the next one may well go to another replica. */
const ATTEMPTS_AFTER_MS = [0, 0, 50, 150];

/**
 * Connects to an upstream, and tries again where nobody listens, as while one replica ends: nothing of a request has left
 * before there is a connection, so no call can run twice. Rejects with the last refusal, or with a `NotSentError` after
 * `timeoutMs`.
 */
export async function reachUpstream(options: NetConnectOpts, { timeoutMs }: { timeoutMs: number }): Promise<Socket> {
  const deadline = performance.now() + timeoutMs;
  let refusal: unknown;
  for (const afterMs of ATTEMPTS_AFTER_MS) {
    if (afterMs > 0) await pause(afterMs);
    try {
      return await openSocket(options, { timeoutMs: deadline - performance.now() });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
      refusal = error;
    }
  }
  throw refusal;
}
