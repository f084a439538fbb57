import { randomUUID } from 'node:crypto';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { ShardAbsorber } from '@turnpike/holds/balances/absorb';
import { createReadCounters } from '@turnpike/holds/balances/readCounters';
import { defineScript } from '@turnpike/holds/redis/askRedis';
import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { aShardHolds } from '@turnpike/holds/test/aShardHolds';
import { type OpenedRedis, openTestRedis } from '@turnpike/holds/test/openTestRedis';
import { toAbsorb } from '@turnpike/holds/test/toAbsorb';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { addCredit } from '../../services/usage-ledger/src/credits/addCredit.ts';
import type { TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import { internalHeaders, startTestService } from '../../services/usage-ledger/test/startTestService.ts';
import { median } from '../median.ts';
import { inGroups, longestCommandMs } from './redisLoad.ts';

const KEYS = 100_000;
const CALLS = 100_000;
const AT_ONCE = 100;
const ROUNDS = 300;
const HOLD = 1_000_000n;
const NOWHERE = 'http://127.0.0.1:9';

export interface LargeWorkspace {
  keys: number;
  calls: number;
  /** Medians of the large one ÷ those of the small one. */
  admitRatio: number;
  absorbRatio: number;
  longestCommandMs: number;
}

/** One workspace of very many keys and open calls, by turns with a small one, through a real ledger. */
export async function measureLargeWorkspace(
  ledger: TestLedger,
  progress: (text: string) => void,
): Promise<LargeWorkspace> {
  const opened = await openTestRedis();
  const service = await startTestService(ledger, { authUrl: NOWHERE, usageQueryTimeoutMs: 5_000 });
  try {
    const { sessionState, redis } = opened;
    const absorber = new ShardAbsorber({ redis, ledgerUrl: service.internalUrl, internalHeaders, sessionState });
    const admit = admitWith(opened);
    const [large, small] = [aKeyRecord(), aKeyRecord()];
    progress('filling the large workspace');
    await fill(opened, ledger, large);
    for (const { workspace, keyId } of [large, small]) {
      const { workspaceId } = workspace;
      await addCredit(ledger.db, { creditId: randomUUID(), workspaceId, amountNanoUsd: 10n ** 14n, note: 'bench' });
      await absorber.load(workspaceId, keyId);
    }
    const calls: string[] = [];
    while (calls.length < CALLS) {
      progress(`filling the large workspace, call ${calls.length} of ${CALLS}`);
      calls.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => admit(large)))));
    }

    await redis.config('SET', 'slowlog-log-slower-than', '1000', 'slowlog-max-len', '1000');
    await redis.slowlog('RESET');
    const times = {
      admit: { large: [] as number[], small: [] as number[] },
      absorb: { large: [] as number[], small: [] as number[] },
    };
    const timed = async (into: number[], run: () => Promise<unknown>): Promise<void> => {
      const startedAt = performance.now();
      await run();
      into.push(performance.now() - startedAt);
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      progress(`large and small workspace, round ${round} of ${ROUNDS}`);
      const mine = { large: '', small: '' };
      await timed(times.admit.large, async () => (mine.large = await admit(large)));
      await timed(times.admit.small, async () => (mine.small = await admit(small)));
      for (const [name, key] of Object.entries({ large, small }) as ['large' | 'small', KeyRecord][]) {
        const { workspaceId } = key.workspace;
        await timed(times.absorb[name], () => absorber.absorbCalls([{ workspaceId, callIds: [mine[name]] }]));
      }
    }
    progress('reading the large workspace, and counting it again');
    await createReadCounters(opened.shard)(large.workspace.workspaceId, '0');
    // An old key's counter has expired: its next call finds that.
    await redis.del(redisKeys.key(large.workspace.workspaceId, large.keyId));
    await admit(large);
    await absorber.load(large.workspace.workspaceId, large.keyId);
    // All that one router asks about in a round are recorded at once.
    for (const final of inGroups(calls, 1_000))
      await defineScript(
        redis,
        'absorb',
      )(...toAbsorb(large.workspace.workspaceId, opened.mark, { sequence: 2, final }));
    const ratio = ({ large: one, small: other }: { large: number[]; small: number[] }): number =>
      median(one) / median(other);
    return {
      keys: KEYS,
      calls: CALLS,
      admitRatio: ratio(times.admit),
      absorbRatio: ratio(times.absorb),
      longestCommandMs: await longestCommandMs(redis),
    };
  } finally {
    await service.close();
    await opened.close();
  }
}

/** Totals of all keys in the ledger, counters of all in Redis, and credit for everything. */
async function fill(
  opened: OpenedRedis,
  { ownerDb: db }: TestLedger,
  { workspace: { workspaceId } }: KeyRecord,
): Promise<void> {
  const keyIds = Array.from({ length: KEYS }, (_, nth) => `key_${workspaceId}_${nth}`);
  await db.$executeRaw`INSERT INTO key_total (key_id, workspace_id, requests, charge_nano_usd)
    SELECT unnest(${keyIds}::TEXT[]), ${workspaceId}, 1, 1`;
  const absorb = defineScript(opened.redis, 'absorb');
  for (const some of inGroups(keyIds, 1_000)) {
    const keys = Object.fromEntries(some.map((keyId) => [keyId, 1n]));
    await absorb(...toAbsorb(workspaceId, opened.mark, { sequence: 0, left: 10n ** 14n, keys }));
  }
}

function admitWith({ redis, sessionState }: OpenedRedis): (key: KeyRecord) => Promise<string> {
  const holds = aShardHolds({ redis, sessionState });
  return async (key) => {
    const event = aUsageRecorded({ callId: randomUUID(), keyId: key.keyId, workspaceId: key.workspace.workspaceId });
    const request = { callId: event.callId, holdNanoUsd: HOLD, estimatedPromptTokens: 10 };
    const answer = await holds.admit({ ...request, key, unknownEventJson: toUsageRecordedJson(event) });
    if (answer.outcome !== 'admitted') throw new Error(`a call was ${answer.outcome}`);
    return event.callId;
  };
}
