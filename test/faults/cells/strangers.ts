import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { openFaultProxy } from '@turnpike/test-support/faultProxy';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { startSecondRedis } from '../stack/secondRedis.ts';
import { loseFile } from './redis.ts';

/** Two routers that do not see the same Redis, or not at the same time. */
export const strangers: CellTable = {
  'wrong-redis': {
    breaks: 'one of two routers is started again with the address of another Redis, an empty one',
    holds: 'the other goes on without a pause; the stranger admits nothing, writes nothing there, and says so',
    eventLog: 'embedded',
    notOnCluster:
      'it leads a router to another Redis by the proxy before it, and none stands before the nodes of a cluster',
    replicas: 2,
    serviceSettings: {},
    run: misdirectRouter,
  },
  'live-laggard': {
    breaks: 'Redis comes back without its file, and one of two routers, which the ledger hears, does not reach it',
    holds: 'the other admits again within 5 s; with the laggard back, every charge is in every balance',
    eventLog: 'embedded',
    notOnCluster: 'it keeps a router from Redis by the proxy before it, and none stands before the nodes of a cluster',
    replicas: 2,
    serviceSettings: {},
    run: keepLaggard,
  },
};

const STARTS_WITHIN_MS = 45_000;

/** Waits until a process has written this. */
const untilSaid = (context: CellContext, { logFile, text }: { logFile: string; text: string }): Promise<void> =>
  context.until(
    `a router to say “${text}”`,
    async () => (await readFile(logFile, 'utf8')).includes(text),
    STARTS_WITHIN_MS,
  );

const STRANGE_FOR_MS = 3_000;

async function misdirectRouter(context: CellContext): Promise<void> {
  const { stack } = context;
  const wrong = await startSecondRedis(stack);
  const load = context.startLoad({ calls: context.calls, tokens: [1, 200] });
  await load.untilSent(Math.floor(context.calls * 0.1));
  await stack.parts.end('model-router-2');
  const startedAt = Date.now();
  const name = 'model-router-misled';
  const misled = stack.parts.startLike('model-router-2', { name, env: { REDIS_URL: wrong.url } });
  await untilSaid(context, { logFile: misled.logFile, text: 'ALERT this process sees another Redis than the others' });
  await pause(STRANGE_FOR_MS);
  context.check((await wrong.redis.dbsize()) === 0, 'something was written into the Redis of nobody');
  const said = await readFile(misled.logFile, 'utf8');
  context.check(!said.includes('calls are admitted'), 'the stranger admitted calls');
  const endedAt = Date.now();
  await stack.parts.end(name);
  await stack.parts.restart('model-router-2');
  const calls = await load.done;
  // Calls may be refused while a router of this stack ends, whichever Redis is right.
  context.checkOutcomes(calls, { ok: true, '503': true });
  const beside = calls.filter((call) => call.startedAt >= startedAt && call.startedAt < endedAt);
  context.check(beside.length > 0, 'no call came while the stranger was there');
  context.checkOutcomes(beside, { ok: true });
  await context.repaired();
}

/** Beyond the lease of the laggard's session. */
const LAGS_MS = 8_000;
const SERVES_WITHIN_MS = 5_000;

async function keepLaggard(context: CellContext): Promise<void> {
  const { stack } = context;
  const url = new URL(stack.redisUrl);
  const way = await openFaultProxy(Number(url.port));
  stack.stopLater(() => way.close());
  url.port = String(way.port);
  await stack.parts.end('model-router-2');
  const env = { REDIS_URL: url.href };
  const laggard = stack.parts.startLike('model-router-2', { name: 'model-router-laggard', env });
  await untilSaid(context, { logFile: laggard.logFile, text: 'calls are admitted' });
  const load = context.startLoad({ calls: context.calls, tokens: [1, 600] });
  await load.untilSent(Math.floor(context.calls * (0.2 + context.random.share() * 0.3)));
  await way.become({ blackHole: true });
  await loseFile.strike(context);
  await loseFile.repair(context);
  await context.checkServing(SERVES_WITHIN_MS);
  await pause(LAGS_MS);
  way.reset();
  await way.become({});
  context.checkOutcomes(await load.done, { ok: true, '503': true });
  await context.repaired();
}
