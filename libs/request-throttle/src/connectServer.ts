import { COMMAND_TIMED_OUT, connectRedis, type NodeAddress } from '@turnpike/redis-connection/connectRedis';
import type { Redis } from 'ioredis';

const MOVED = /^MOVED \d+ (.*):(\d+)$/;

/**
 * Connects to the one server that serves some keys, by the addresses of a Redis or of some nodes of a cluster. Call
 * `doubt` with the error of each failed command. If a node redirects to another node, commands go there from then on.
 * If a server is silent, they go to the next address.
 */
export function connectServer(urls: string[], timeoutMs: number): { redis: Redis; doubt: (error: unknown) => void } {
  const [url = ''] = urls;
  const redis = connectRedis(url, { timeoutMs });
  const addresses = urls.map(toAddress);
  let tried = 0;
  let moved: NodeAddress | undefined;
  redis.on('close', () => {
    tried += 1;
    Object.assign(redis.options, moved ?? addresses[tried % addresses.length]);
    moved = undefined;
  });
  return {
    redis,
    doubt(error) {
      const { message } = error as Error;
      const [, host = '', port] = MOVED.exec(message) ?? [];
      // A node that does not know its own name is where it was asked.
      if (port !== undefined) moved = { host: host || (redis.options.host ?? ''), port: Number(port) };
      else if (message !== COMMAND_TIMED_OUT) return;
      redis.disconnect(true);
    },
  };
}

function toAddress(url: string): NodeAddress {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 6_379) };
}
