import type { NetConnectOpts, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { openSocket } from '@turnpike/upstream-connections/upstreamConnections';

/** Wait before each attempt, in ms. Behind a load balancer the next attempt may reach another replica. */
const ATTEMPTS_AFTER_MS = [0, 0, 50, 150];

/**
 * Connects to an upstream, and retries a refused connection, for example while one replica stops. No byte of a request
 * is sent before there is a connection, so no call can run twice. Rejects with the last refusal, or with a
 * `NotSentError` after `timeoutMs`.
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
