import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connectionsOf } from './connection.ts';

/** How often a draining listener looks for connections that nobody uses any more. */
const SWEEP_MS = 100;
/** The longest answer of a service without streams. */
const LONGEST_PLAIN_ANSWER_MS = 10_000;

export interface DrainOptions {
  /**
   * How long new calls may still come after the process was told to stop: until every load balancer has read `/ready`. Also
   * how long a connection must have been idle before it is closed, so it has to be longer than callers keep idle ones.
   */
  settleMs: number;
  /** How long answers may take from then on. */
  longestAnswerMs?: number;
  /** Called after that: ends the answers that are still under way. */
  cutAnswers?: () => void;
}

const endingAnswers = new WeakSet<ServerResponse>();

/** Whether an answer is given by a listener that has begun to end. */
export const isEnding = (res: ServerResponse): boolean => endingAnswers.has(res);

/**
 * Ends listeners without a caller noticing, in the order given: `/ready` says 503 and every answer `Connection: close`, while
 * all that still comes is served; after `settleMs` no connection is accepted, and each closes with its answer, or once it has
 * been idle for as long. Resolves when the last is closed. A later listener goes on until the one before has ended.
 */
export async function drain(
  servers: readonly Server[],
  { settleMs, longestAnswerMs = LONGEST_PLAIN_ANSWER_MS, cutAnswers = () => undefined }: DrainOptions,
): Promise<void> {
  for (const server of servers) announceEnd(server);
  await pause(settleMs);
  const cutting = setTimeout(cutAnswers, longestAnswerMs);
  for (const server of servers) await close(server, settleMs);
  clearTimeout(cutting);
}

/** Longest time that `drain` takes where nothing hangs. */
export function toDrainTimeoutMs({ settleMs, longestAnswerMs = LONGEST_PLAIN_ANSWER_MS }: DrainOptions): number {
  // The answer may begin as the settling ends; the connection may then stay idle for as long again, on each listener.
  return 3 * settleMs + longestAnswerMs + LONGEST_PLAIN_ANSWER_MS;
}

function announceEnd(server: Server): void {
  for (const { answers } of connectionsOf(server).values()) for (const res of answers) announceIn(res);
  server.prependListener('request', (_req: IncomingMessage, res: ServerResponse) => announceIn(res));
}

/** Headers that have left cannot be changed: such a connection is closed once it is idle. */
function announceIn(res: ServerResponse): void {
  endingAnswers.add(res);
  if (!res.headersSent) res.shouldKeepAlive = false;
}

function close(server: Server, idleMs: number): Promise<void> {
  function closeIdle(): void {
    const before = performance.now() - idleMs;
    for (const [socket, { answers, idleSince }] of connectionsOf(server))
      if (answers.length === 0 && idleSince <= before) socket.destroy();
  }
  const sweep = setInterval(closeIdle, SWEEP_MS);
  return new Promise<void>((resolve, reject) => {
    // The HTTP server's own close would end idle connections at once, and the next request may be on its way there.
    NetServer.prototype.close.call(server, (error) => (error ? reject(error) : resolve()));
    closeIdle();
  }).finally(() => clearInterval(sweep));
}
