import { backoffMs } from '@turnpike/lifecycle/backoff';
import type { Logger } from '@turnpike/logging/createLogger';
import { Redis } from 'ioredis';

/** How long a connection that is given up may take to end in order. Where nothing passes any more it never would. */
const DISCONNECT_MS = 100;
const BACKOFF = { firstMs: 50, longestMs: 1_000 };

/**
 * A connection whose commands fail within `timeoutMs` instead of waiting for Redis to come back: what cannot be decided
 * now is refused now. A command is never sent twice behind our back. A server that says that it is no primary any more is
 * left: its address may lead to the new one by now.
 */
export function connectRedis(url: string, { timeoutMs, log }: { timeoutMs: number; log: Logger }): Redis {
  const redis = new Redis(url, {
    commandTimeout: timeoutMs,
    connectTimeout: 1_000,
    disconnectTimeout: DISCONNECT_MS,
    // `true` rejects the command and connects anew; it does not send the command again.
    reconnectOnError: ({ message }) => /^(READONLY|MASTERDOWN)\b/.test(message),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    retryStrategy: (attempt) => backoffMs(attempt, BACKOFF),
  });
  let isDown = false;
  redis.on('error', (error) => {
    if (!isDown) log.error({ err: error }, 'redis connection failed');
    isDown = true;
  });
  redis.on('ready', () => {
    if (isDown) log.info('redis connection is back');
    isDown = false;
  });
  return redis;
}
