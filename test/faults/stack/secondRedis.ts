import { waitFor } from '@turnpike/local-stack/waitFor';
import { startRedis } from '@turnpike/test-support/startRedis';
import { Redis } from 'ioredis';
import type { FaultStack } from './startFaultStack.ts';

const IN_STEP_WITHIN_MS = 15_000;

/** A replica of a stack's Redis that can take its place. */
export interface Replica {
  port: number;
  /** Makes it a primary. */
  promote(): Promise<void>;
  /** The old primary is a replica of it from now on, and tells nobody whom it serves. */
  demoteFormer(): Promise<void>;
  /** The suite looks at it in place of the old one. */
  takeOver(): void;
}

/** An empty Redis beside the stack's, with the same password; it ends with the stack. */
export async function startSecondRedis(stack: FaultStack): Promise<{ port: number; url: string; redis: Redis }> {
  const server = await startRedis();
  const { password } = new URL(stack.redisUrl);
  const redis = new Redis(server.url);
  redis.on('error', () => undefined);
  await redis.config('SET', 'masterauth', password);
  await redis.config('SET', 'requirepass', password);
  await redis.auth(password);
  stack.stopLater(async () => {
    redis.disconnect();
    await server.stop();
  });
  return { port: server.port, url: `redis://:${password}@127.0.0.1:${server.port}`, redis };
}

/** Starts a replica, and resolves when it is in step. */
export async function startReplica(stack: FaultStack): Promise<Replica> {
  const { port, url, redis } = await startSecondRedis(stack);
  const former = new URL(stack.redisUrl);
  await redis.replicaof(former.hostname, Number(former.port));
  const isInStep = async () => (await redis.info('replication')).includes('master_link_status:up') || undefined;
  if (!(await waitFor(isInStep, { timeoutMs: IN_STEP_WITHIN_MS }))) throw new Error('the replica is not in step');
  return {
    port,
    async promote() {
      await redis.replicaof('NO', 'ONE');
    },
    async demoteFormer() {
      await stack.redis.config('SET', 'masterauth', former.password);
      await stack.redis.replicaof('127.0.0.1', port);
    },
    takeOver: () => stack.lookAtRedis(url),
  };
}
