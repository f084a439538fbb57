import { startRedis } from '@turnpike/test-support/startRedis';
import { Redis } from 'ioredis';
import { type AddedThrottle, defineAddTaken } from '../src/addTaken.ts';

const CLOCK = "redis.call('TIME')";
/** The time that a test gives. */
const GIVEN_CLOCK = '{ tonumber(ARGV[#ARGV]), 0 }';
const EXPIRY = "'PX', aheadMs + keepMs";
/** Keys expire by the real clock, which a busy machine may take far ahead of the given one. `flush` removes them. */
const LATE_EXPIRY = "'PX', aheadMs + 3600000";

/** A real Redis that runs the script of `addTaken` at the times that a test says. */
export interface SimulatedRedis {
  /** Runs the script at this time, by the clock of Redis. */
  addTaken(added: AddedThrottle, clockAheadMs: number, atMs: number): Promise<number[]>;
  flush(): Promise<void>;
  close(): Promise<void>;
}

export async function openSimulatedRedis(): Promise<SimulatedRedis> {
  const server = await startRedis();
  const redis = new Redis(server.url);
  let seconds = 0;
  const timed = {
    defineCommand(name: string, { lua }: { lua: string }) {
      if (!lua.includes(CLOCK) || !lua.includes(EXPIRY)) throw new Error('the script uses the clock in another way');
      const timedLua = lua.replace(CLOCK, GIVEN_CLOCK).replace(EXPIRY, LATE_EXPIRY);
      redis.defineCommand(name, { lua: timedLua });
    },
    addTaken: (...args: (string | number)[]) =>
      (Reflect.get(redis, 'addTaken') as (...all: unknown[]) => Promise<unknown>).call(redis, ...args, seconds),
  };
  const addTaken = defineAddTaken(timed as unknown as Redis);
  return {
    addTaken(added, clockAheadMs, atMs) {
      seconds = atMs / 1_000;
      return addTaken(added, clockAheadMs);
    },
    flush: async () => void (await redis.flushall()),
    async close() {
      redis.disconnect();
      await server.stop();
    },
  };
}
