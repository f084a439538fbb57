import type { Writable } from 'node:stream';
import { backoffMs } from '@turnpike/lifecycle/repeat';
import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import type { Logger } from '@turnpike/logging/createLogger';
import { Redis } from 'ioredis';

/** How long a connection that is given up may take to end in order. Where nothing passes any more it never would. */
const DISCONNECT_MS = 100;
const BACKOFF = { firstMs: 50, longestMs: 1_000 };

/** Errors of a cluster node that does not serve the key, or not now. The node has not executed the command. */
const NOT_HERE = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN) |non local key/;
const NO_PRIMARY = /^(READONLY|MASTERDOWN)\b/;

/** Error message of a command without a response before the deadline. Redis may have executed it. */
export const COMMAND_TIMED_OUT = 'Command timed out';

/** Address of a server or of a cluster node. */
export interface NodeAddress {
  host: string;
  port: number;
}

export interface ConnectionOptions {
  timeoutMs: number;
  /** Told when the connection breaks and when it is back. */
  log?: Logger | undefined;
  /** Address of the server, if it differs from the one in the URL. */
  address?: NodeAddress | undefined;
  /** Called when this may not be the server any more that it was. */
  onDoubt?: (() => void) | undefined;
}

/**
 * A connection whose commands fail within `timeoutMs` instead of waiting for Redis to come back: what cannot be decided
 * now is refused now. A command is never sent twice behind our back, nor elsewhere. A server that says that it is no primary any more
 * is left: its address may lead to the new one by now.
 */
export function connectRedis(url: string, { timeoutMs, log, address, onDoubt }: ConnectionOptions): Redis {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 1_000,
    disconnectTimeout: DISCONNECT_MS,
    // `true` rejects the command and connects anew; it does not send the command again.
    reconnectOnError({ message }) {
      const isNoPrimary = NO_PRIMARY.test(message);
      if (isNoPrimary || NOT_HERE.test(message)) onDoubt?.();
      return isNoPrimary;
    },
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    retryStrategy: (attempt) => backoffMs(attempt, BACKOFF),
  });
  if (address) Object.assign(redis.options, address);
  const { sendCommand } = redis;
  redis.sendCommand = (command, stream) => {
    const { stop: stopDeadline } = startDeadline(timeoutMs, () => command.reject(new Error(COMMAND_TIMED_OUT)));
    command.promise.then(stopDeadline, stopDeadline);
    return sendCommand.call(redis, command, stream);
  };
  let isDown = false;
  redis.on('error', (error) => {
    if (!isDown) log?.error({ err: error }, 'redis connection failed');
    isDown = true;
  });
  redis.on('ready', () => {
    if (isDown) log?.info('redis connection is back');
    isDown = false;
  });
  redis.on('connect', () => writeTogether(redis.stream));
  redis.on('close', () => onDoubt?.());
  redis.connect().catch(() => {}); // an error of the connection, and tried again
  return redis;
}

let isAhead = false;

/**
 * Runs a command that leaves before whoever waits for its caller goes on: at the end of this round of promises, not of this turn. So
 * what a client is told next is never known to this process and its client alone. Those of one round still leave as one.
 */
export function sendAhead<Result>(run: () => Result): Result {
  isAhead = true;
  try {
    return run();
  } finally {
    isAhead = false;
  }
}

/**
 * Sends the writes of one tick of the event loop together at its end. That takes one system call here, one read and one
 * write of Redis' one thread, and one write of its file. Commands keep their order.
 */
function writeTogether(stream: Writable): void {
  const write = stream.write.bind(stream);
  let turnEnd: NodeJS.Immediate | undefined;
  let isLeaving = false;
  function flush(): void {
    clearImmediate(turnEnd);
    turnEnd = undefined;
    isLeaving = false;
    if (stream.writableCorked > 0) stream.uncork();
  }
  // The one way in which the client writes.
  stream.write = (command: string | Uint8Array) => {
    if (stream.writableCorked === 0) stream.cork();
    if (isAhead && !isLeaving) {
      isLeaving = true;
      queueMicrotask(flush);
    } else if (!isLeaving) turnEnd ??= setImmediate(flush);
    return write(command);
  };
}

/** Leaves the server that a connection leads to for another one; for the same one it does nothing. */
export function moveConnection(redis: Redis, { host, port }: NodeAddress): void {
  if (redis.options.host === host && redis.options.port === port) return;
  Object.assign(redis.options, { host, port });
  redis.disconnect(true);
}
