import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { startDeadline } from '@turnpike/lifecycle/startDeadline';

/** Waits before each attempt; behind a load balancer the next one may well go to another replica. */
const ATTEMPTS_AFTER_MS = [0, 0, 50, 150];

/** The upstream has seen nothing of the request. */
export class NotSentError extends Error {
  override name = 'NotSentError';
}

/**
 * Connects to an upstream, and tries again where nobody listens, as while one replica ends: nothing of a request has left
 * before there is a connection, so no call can run twice. Rejects with the last refusal, or with a `NotSentError` after
 * `timeoutMs`: an upstream that is busy lets connections wait, and its kernel drops some, which come again after 1, 3 and 7 s.
 */
export async function reachUpstream(options: NetConnectOpts, { timeoutMs }: { timeoutMs: number }): Promise<Socket> {
  const deadline = performance.now() + timeoutMs;
  let refusal: unknown;
  for (const afterMs of ATTEMPTS_AFTER_MS) {
    if (afterMs > 0) await pause(afterMs);
    try {
      return await connectBefore(deadline, options, timeoutMs);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
      refusal = error;
    }
  }
  throw refusal;
}

function connectBefore(deadline: number, options: NetConnectOpts, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(options);
    const giveUp = (): void => {
      if (socket.connecting) socket.destroy(new NotSentError(`not connected within ${timeoutMs} ms`));
    };
    // Where this process was held up itself, a connection that stands and was not seen yet comes first.
    const stopWaiting = startDeadline(Math.max(0, deadline - performance.now()), giveUp);
    socket.once('connect', () => {
      stopWaiting();
      // A connection may last for long: nothing of this is kept with it.
      socket.off('error', reject).off('close', stopWaiting);
      resolve(socket);
    });
    socket.once('error', reject);
    socket.once('close', stopWaiting);
  });
}
