import { createDb } from '../../../services/usage-ledger/src/database/createDb.ts';
import { findUsageRequest } from '../../../services/usage-ledger/src/ledger/findUsageRequest.ts';
import { listUsage } from '../../../services/usage-ledger/src/ledger/listUsage.ts';
import { sumUsage } from '../../../services/usage-ledger/src/ledger/sumUsage.ts';
import { openTestLedger, type TestLedger } from '../../../services/usage-ledger/test/openTestLedger.ts';
import { makeHistory } from '../../audit/makeHistory.ts';
import { readProcessorTime } from '../../calls/readProcess.ts';
import { type Curve, measureByTurns, toLine } from '../curve.ts';

const SIZES = [10_000, 100_000];
const LONG_SIZES = [10_000, 100_000, 1_000_000, 10_000_000];
const LOOK_UPS = 300;
const SUMS = 8;
const MINUTES_10_MS = 10 * 60 * 1_000;
const DAY_MS = 24 * 60 * 60 * 1_000;
const MOST_MS_OF_A_MONTH = 500;

interface Reader {
  ledger: TestLedger;
  /** One connection. */
  db: TestLedger['db'];
  calls: { callId: string; keyId: string }[];
}

/** Rows of the ledger: Postgres' processor time for one call's usage, and how long a month's sums take. */
export const rows: Curve = {
  name: 'rows',
  title:
    'Postgres’ processor time to find a call by rows of the ledger, and of a month’s sums of 500 keys in 50 workspaces',
  async measure({ rounds, isLong, progress }) {
    const sizes = isLong ? LONG_SIZES : SIZES;
    const readers = new Map<number, Reader>();
    try {
      progress(`making ${sizes.join(', ')} rows`);
      const opened = await Promise.allSettled(sizes.map((size) => openReader(size)));
      for (const [index, result] of opened.entries())
        if (result.status === 'fulfilled') readers.set(sizes[index] ?? 0, result.value);
      for (const result of opened) if (result.status === 'rejected') throw result.reason;
      const measure = async (size: number, round: number) => {
        progress(`${size} rows, round ${round + 1} of ${rounds}`);
        const reader = readers.get(size) as Reader;
        return {
          lookUpUs: await measureLookUps(reader),
          keyMs: await measureMonth(reader, sumMonthOfKey),
          workspaceMs: await measureMonth(reader, sumMonthOfWorkspace),
        };
      };
      // To warm up: pages are read, and statements planned.
      await measureByTurns(sizes, 1, measure);
      const measured = await measureByTurns(sizes, rounds, measure);
      // More rows are more hours to add up, until each key has called in each hour: there is no one size to stay at.
      const ofMonth = { unit: 'ms', mostAtLast: MOST_MS_OF_A_MONTH };
      return [
        toLine('usage of one call', measured, ({ lookUpUs }) => lookUpUs),
        toLine('a key’s month', measured, ({ keyMs }) => keyMs, ofMonth),
        toLine('a workspace’s month', measured, ({ workspaceMs }) => workspaceMs, ofMonth),
      ];
    } finally {
      for (const { db, ledger } of readers.values()) {
        await db.$disconnect();
        await ledger.close();
      }
    }
  },
};

async function openReader(size: number): Promise<Reader> {
  const ledger = await openTestLedger();
  try {
    await makeHistory(ledger, size);
    const calls = await ledger.ownerDb.$queryRaw<Reader['calls']>`
      SELECT call_id::TEXT AS "callId", key_id AS "keyId" FROM usage_request
      WHERE call_id >= first_call_id_at(now() - INTERVAL '31 days') ORDER BY md5(call_id::TEXT) LIMIT ${LOOK_UPS}`;
    const db = createDb({ databaseUrl: ledger.databaseUrl, poolSize: 1, statementTimeoutMs: MINUTES_10_MS });
    return { ledger, db, calls };
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

/** µs of Postgres for one. */
async function measureLookUps({ db, calls }: Reader): Promise<number> {
  // Asked each time: a connection that was idle while more rows were made is another one by now.
  const [backend] = await db.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const pid = backend?.pid ?? 0;
  const before = readProcessorTime(pid);
  for (const call of calls) {
    const found = await findUsageRequest(db, call);
    if (found === undefined) throw new Error(`${call.callId} was recorded and not found`);
  }
  return (readProcessorTime(pid) - before) / calls.length;
}

/** ms of one. */
async function measureMonth(
  { db }: Reader,
  sum: (db: TestLedger['db'], n: number) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now();
  for (let n = 0; n < SUMS; n += 1) await sum(db, n);
  return (performance.now() - startedAt) / SUMS;
}

const sumMonthOfKey = (db: TestLedger['db'], n: number): Promise<unknown> => {
  const end = new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS);
  const start = new Date(end.getTime() - 31 * DAY_MS);
  return sumUsage(db, `key_${n}`, { start, end, groupBy: ['day', 'model'], limit: 10_000 });
};

const sumMonthOfWorkspace = (db: TestLedger['db'], n: number): Promise<unknown> => {
  const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const [start, end] = [toDay(Date.now() - 31 * DAY_MS), toDay(Date.now() + DAY_MS)];
  return listUsage(db, { workspaceId: `ws_${n}` }, { start, end, groupBy: ['day', 'key'], limit: 10_000 });
};
