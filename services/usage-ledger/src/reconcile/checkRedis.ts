import type { modelRouterApi, RedisCounters } from '@turnpike/internal-api/modelRouter';
import type { Client } from '@turnpike/internal-api/transport/createClient';
import { absorb } from '../balances/absorb.ts';
import type { Db } from '../database/createDb.ts';
import { type Check, toCheck } from './check.ts';
import { comparePending, compareSums } from './compareWithRedis.ts';
import { findStrandedCalls } from './findStrandedCalls.ts';
import { readPostedSince } from './readPostedSince.ts';

export interface RedisCheckDependencies {
  /** Connections whose statements may take minutes. */
  auditDb: Db;
  router: Pick<Client<typeof modelRouterApi>, 'getCounters' | 'reloadBalances'>;
}

/** Most attempts. A Redis on an earlier timeline has to take over the ledger's sums before a comparison. */
const MOST_ATTEMPTS = 5;
/** Most pages of pending calls that are read; a page has thousands. */
const MOST_PAGES = 20;

/**
 * Compares Redis' sums of a workspace with the ledger while both change. Every sum in Redis names the state of the
 * ledger that it is from, and the ledger knows its sum in that state. So a difference is an error at any load. Rejects
 * while no router can report.
 */
export async function checkRedis(
  { auditDb, router }: RedisCheckDependencies,
  workspaceId: string,
): Promise<{ checks: Check[]; doubts: string[] }> {
  const doubts: string[] = [];
  const { counters, sums } = await compareAtOnePlace({ auditDb, router }, workspaceId);
  if (!isDecided(sums))
    doubts.push('Redis has not taken over the sums that the ledger has on this timeline of Postgres');
  const pending = counters.next_after === null ? comparePending(counters) : [];
  if (counters.next_after !== null)
    doubts.push('more calls are pending than can be read at one instant: their sums were not added up');
  const stranded = { overdue: 0, ownerless: 0 };
  let page: RedisCounters = counters;
  for (let pages = 1; ; pages += 1) {
    const { overdue, ownerless } = await findStrandedCalls(auditDb, workspaceId, page);
    stranded.overdue += overdue.length;
    stranded.ownerless += ownerless.length;
    const after = page.next_after;
    if (after === null) break;
    if (pages === MOST_PAGES) {
      doubts.push('not every pending call was looked at');
      break;
    }
    page = await router.getCounters({ params: { workspace_id: workspaceId, after } });
  }
  const checks = [
    ...pending,
    ...sums,
    toCheck('overdue', 'count', BigInt(stranded.overdue), 0n),
    toCheck('ownerless', 'count', BigInt(stranded.ownerless), 0n),
  ];
  return { checks, doubts };
}

/**
 * Compares the sums of Redis and the ledger in the same state. If that is impossible, Redis is asked to take over the
 * newest sums.
 */
async function compareAtOnePlace(
  { auditDb, router }: RedisCheckDependencies,
  workspaceId: string,
): Promise<{ counters: RedisCounters; sums: Check[] }> {
  const params = { workspace_id: workspaceId };
  for (let attempt = 1; ; attempt += 1) {
    const counters = await router.getCounters({ params });
    const sums = await auditDb.snapshot(async (tx) => {
      const asked = {
        workspaceId,
        month: firstMonthOf(counters),
        keyIds: Object.keys(counters.keys),
        since: Object.fromEntries(
          Object.entries(counters.keys).flatMap(([keyId, { period }]) => (period ? [[keyId, period.since]] : [])),
        ),
        callIds: [],
      };
      const { timeline, workspaces } = await absorb(tx, [asked]);
      const [books] = workspaces;
      if (!books) return [];
      const since = await readPostedSince(tx, counters, { timeline, books });
      return compareSums(counters, timeline, { books, since });
    });
    if (isDecided(sums) || attempt === MOST_ATTEMPTS) return { counters, sums };
    await router.reloadBalances({ params }).catch(() => {});
  }
}

/** Returns whether the result is final: one check differs, or all are equal. */
const isDecided = (sums: Check[]): boolean =>
  sums.some(({ verdict }) => verdict === 'different') || sums.every(({ verdict }) => verdict === 'equal');

const firstMonthOf = ({ months, now_ms: nowMs }: RedisCounters): string =>
  [...Object.keys(months), new Date(nowMs).toISOString().slice(0, 7)].sort()[0] ?? '';
