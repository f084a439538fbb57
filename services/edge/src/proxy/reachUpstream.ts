import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** For all attempts together. */
const TIMEOUT_MS = 1_000;
/** Waits before each attempt; behind a load balancer the next one may well go to another replica. */
const ATTEMPTS_AFTER_MS = [0, 0, 50, 150];

/** The upstream has seen nothing of the request. */
export class NotSentError extends Error {
  override name = 'NotSentError';
}

/**
 * Connects to an upstream, and tries again where nobody listens, as while one replica ends: nothing of a request has left
 * before there is a connection, so no call can run twice. Rejects with the last refusal, or with a `NotSentError` after 1 s.
 */
export async function reachUpstream(options: NetConnectOpts): Promise<Socket> {
  const deadline = performance.now() + TIMEOUT_MS;
  let refusal: unknown;
  for (const afterMs of ATTEMPTS_AFTER_MS) {
    if (afterMs > 0) await pause(afterMs);
    try {
      return await connectBefore(deadline, options);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
      refusal = error;
    }
  }
  throw refusal;
}

function connectBefore(deadline: number, options: NetConnectOpts): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(options);
    const giveUp = (): void => {
      if (socket.connecting) socket.destroy(new NotSentError(`not connected within ${TIMEOUT_MS} ms`));
    };
    // Where this process itself was held up, the connection may stand and only not have been seen yet: that comes first.
    const timer = setTimeout(() => setImmediate(giveUp), deadline - performance.now());
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
  });
}
