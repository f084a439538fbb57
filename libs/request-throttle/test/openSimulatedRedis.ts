import { startRedis } from '@turnpike/test-support/startRedis';
import { Redis } from 'ioredis';
import { type AddedThrottle, defineAddTaken } from '../src/addTaken.ts';

const CLOCK = "redis.call('TIME')";
/** The time that a test gives. */
const GIVEN_CLOCK = '{ tonumber(ARGV[#ARGV]), 0 }';

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
      const timedLua = lua.replace(CLOCK, GIVEN_CLOCK);
      if (timedLua === lua) throw new Error('the script asks for the time in another way');
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
