import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connectionsOf } from './connection.ts';

/** Interval at which a draining listener closes idle connections. */
const SWEEP_MS = 100;
/** Longest answer of a service without streams. */
const LONGEST_PLAIN_ANSWER_MS = 10_000;

export interface DrainOptions {
  /**
   * Time that new calls are accepted after the stop signal, until every load balancer has read `/ready`. Also the idle
   * time after which a connection is closed, so it has to be longer than callers keep idle ones.
   */
  settleMs: number;
  /** Longest time for answers after that. */
  longestAnswerMs?: number;
  /** Called after that time, to end the answers in progress. */
  cutAnswers?: () => void;
}

const endingAnswers = new WeakSet<ServerResponse>();

/** Returns whether an answer's listener has begun to end. */
export const isEnding = (res: ServerResponse): boolean => endingAnswers.has(res);

/**
 * Ends listeners in the given order, without failed requests. First `/ready` returns 503 and every answer has
 * `Connection: close`, while all requests are served. After `settleMs` no connection is accepted. Each open one closes
 * after its answer, or once it was idle for `settleMs`. Resolves when the last connection is closed. A later listener
 * stays open until the one before has ended.
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

/** Returns the longest time of a `drain` in which nothing hangs. */
export function toDrainTimeoutMs({ settleMs, longestAnswerMs = LONGEST_PLAIN_ANSWER_MS }: DrainOptions): number {
  // An answer may begin as the settling ends. Then the connection may be idle for as long again, on each listener.
  return 3 * settleMs + longestAnswerMs + LONGEST_PLAIN_ANSWER_MS;
}

function announceEnd(server: Server): void {
  for (const { answers } of connectionsOf(server).values()) for (const res of answers) announceIn(res);
  server.prependListener('request', (_req: IncomingMessage, res: ServerResponse) => announceIn(res));
}

/** Sent headers cannot change, so such a connection closes once it is idle. */
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
    // The HTTP server's own `close` ends idle connections at once, although the next request may be on its way.
    NetServer.prototype.close.call(server, (error) => (error ? reject(error) : resolve()));
    closeIdle();
  }).finally(() => clearInterval(sweep));
}
