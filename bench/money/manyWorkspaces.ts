import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRedis } from '@turnpike/holds/redis/askRedis';
import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { TAG } from '@turnpike/holds/test/aShard';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { startRedis, type TestRedis } from '@turnpike/test-support/startRedis';
import { until } from '@turnpike/test-support/until';
import { Redis } from 'ioredis';
import { addCredit } from '../../services/usage-ledger/src/credits/addCredit.ts';
import type { TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import { internalHeaders, startTestService } from '../../services/usage-ledger/test/startTestService.ts';
import { type RouterAccounts, startRouterAccounts } from '../../test/support/startRouterAccounts.ts';
import { inGroups, longestCommandMs, secondsOf } from './redisLoad.ts';

const ROUTERS = 100;
const WORKSPACES = 1_000_000;
const ACTIVE = 1_000;
/** Open calls of each active workspace, over all routers. */
const CALLS_EACH = 10;
const LEASE_MS = 60_000;
const HOLD = 1_000_000n;
const NOWHERE = 'http://127.0.0.1:9';
const OBSERVED_MS = 15_000;

export interface ManyWorkspaces {
  routers: number;
  workspaces: number;
  active: number;
  calls: number;
  /** Seconds from the moment an empty Redis answers. */
  gateS: number;
  recoveryS: number;
  /** Shares of a core: the routers and the ledger of this process; Redis; and Redis' extra while the sweeper walks. */
  heartbeatsOfACore: number;
  heartbeatsOfRedis: number;
  sweepOfRedis: number;
  longestCommandMs: number;
}

/**
 * A region in which Redis is lost: the accounts of a hundred routers in this process, on a real Redis and a real ledger. What they
 * take of this one process is part of the recovery; in a region each has its own.
 */
export async function measureManyWorkspaces(
  ledger: TestLedger,
  progress: (text: string) => void,
): Promise<ManyWorkspaces> {
  const server = await startRedis();
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-bench-'));
  const service = await startTestService(ledger, { authUrl: NOWHERE, usageQueryTimeoutMs: 5_000 });
  const redis = new Redis(server.url, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  redis.on('error', () => {});
  const routers: RouterAccounts[] = [];
  try {
    await ledger.db.router.deleteMany();
    for (let index = 0; index < ROUTERS; index += 1) {
      progress(`router ${index} of ${ROUTERS}`);
      routers.push(
        await startRouterAccounts({
          redisUrls: [server.url],
          ledgerUrl: () => service.internalUrl,
          internalHeaders,
          spoolDir: join(folder, String(index)),
          leaseMs: LEASE_MS,
          write: (json) => json,
        }),
      );
    }
    const region = { ledger, server, redis, routers, progress };
    const keys = await openCalls(region);
    const { gateS, recoveryS, longest } = await recover(region, keys);

    progress('heartbeats alone');
    const heartbeats = await observe(redis);
    progress('a million workspaces that do nothing');
    await fillDormant(redis);
    await redis.config('SET', 'slowlog-log-slower-than', '1000', 'slowlog-max-len', '1000');
    await redis.slowlog('RESET');
    progress('the sweeper walks');
    const sweeping = await observe(redis);
    return {
      routers: ROUTERS,
      workspaces: WORKSPACES,
      active: ACTIVE,
      calls: ACTIVE * CALLS_EACH,
      gateS,
      recoveryS,
      heartbeatsOfACore: heartbeats.here,
      heartbeatsOfRedis: heartbeats.redis,
      sweepOfRedis: sweeping.redis - heartbeats.redis,
      longestCommandMs: Math.max(longest, await longestCommandMs(redis)),
    };
  } finally {
    progress('ending all routers');
    await Promise.all(routers.map((router) => router.crash()));
    redis.disconnect();
    await service.close();
    await server.stop();
    await rm(folder, { recursive: true });
  }
}

interface Region {
  ledger: TestLedger;
  server: TestRedis;
  redis: Redis;
  routers: RouterAccounts[];
  progress: (text: string) => void;
}

const allOpen = (routers: RouterAccounts[]): Promise<unknown> =>
  until('all routers to admit', () => routers.every((each) => each.isOpen()), 60_000);

/** Admits the calls of every active workspace, each through other routers. */
async function openCalls({ ledger, routers, progress }: Region): Promise<KeyRecord[]> {
  progress('opening calls');
  const keys = Array.from({ length: ACTIVE }, () => aKeyRecord());
  for (const { workspace } of keys) {
    const credit = { creditId: randomUUID(), workspaceId: workspace.workspaceId, amountNanoUsd: 10n ** 12n };
    await addCredit(ledger.db, { ...credit, note: 'bench' });
  }
  await allOpen(routers);
  for (let nth = 0; nth < CALLS_EACH; nth += 1) await admitEach(routers, keys, nth);
  return keys;
}

async function admitEach(routers: RouterAccounts[], keys: KeyRecord[], nth: number): Promise<void> {
  for (const some of inGroups([...keys.entries()], 50))
    await Promise.all(
      some.map(async ([index, key]) => {
        const router = routers[(index * 7 + nth * 13) % ROUTERS];
        // Retries, like a client that gets 503.
        await until('a call to be let in', async () => (await router?.admit(key, HOLD)) !== undefined, 60_000);
      }),
    );
}

async function recover({ server, redis, routers, progress }: Region, keys: KeyRecord[]) {
  progress('Redis is lost');
  await server.kill();
  await until('the loss to be noticed', () => routers.every((each) => !each.isOpen()), 60_000);
  await server.restart({ empty: true });
  const since = performance.now();
  await redis.config('SET', 'slowlog-log-slower-than', '1000', 'slowlog-max-len', '1000');
  await allOpen(routers);
  const gateS = (performance.now() - since) / 1_000;
  await admitEach(routers, keys, CALLS_EACH);
  const recoveryS = (performance.now() - since) / 1_000;
  const { workspaceId } = keys[0]?.workspace ?? { workspaceId: '' };
  const back = await redis.hlen(redisKeys.calls(workspaceId));
  if (back !== CALLS_EACH + 1) throw new Error(`${back} calls of a workspace are back`);
  return { gateS, recoveryS, longest: await longestCommandMs(redis) };
}

const FILL = `
for nth = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local tag = '{ws_dormant_' .. nth .. '}:'
  redis.call('HSET', tag .. 'wallet', 'loaded', ARGV[3], 'left', '1000000000', 'timeline', '1', 'sequence', '7', 'held', '0', 'ended', '0')
  redis.call('HSET', tag .. 'months', '2026-11:loaded', ARGV[3], '2026-11:spent', '1000', '2026-11:held', '0', '2026-11:ended', '0')
  redis.call('HSET', tag .. 'key:key_dormant_' .. nth, 'loaded', ARGV[3], 'spent', '1000', 'held', '0', 'ended', '0')
end`;

async function fillDormant(redis: Redis): Promise<void> {
  const mark = `${(await readRedis(redis)).redisId}:${TAG}:${randomUUID()}`;
  const step = 2_000;
  for (let first = 0; first < WORKSPACES - ACTIVE; first += step)
    await redis.eval(FILL, 0, first, Math.min(first + step, WORKSPACES - ACTIVE) - 1, mark);
}

/** Measures Redis and this process as shares of a core. A sweeper walks without an end if there are a million workspaces. */
async function observe(redis: Redis): Promise<{ redis: number; here: number }> {
  const before = { redis: await secondsOf(redis), here: process.cpuUsage() };
  await new Promise((resolve) => setTimeout(resolve, OBSERVED_MS));
  const here = process.cpuUsage(before.here);
  return {
    redis: ((await secondsOf(redis)) - before.redis) / (OBSERVED_MS / 1_000),
    here: (here.user + here.system) / 1_000 / OBSERVED_MS,
  };
}
