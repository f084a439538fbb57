import { createDb } from '../../../services/usage-ledger/src/database/createDb.ts';
import { findUsageRequest } from '../../../services/usage-ledger/src/ledger/findUsageRequest.ts';
import { listUsage } from '../../../services/usage-ledger/src/ledger/listUsage.ts';
import { sumUsage } from '../../../services/usage-ledger/src/ledger/sumUsage.ts';
import { openTestLedger, type TestLedger } from '../../../services/usage-ledger/test/openTestLedger.ts';
import { makeHistory } from '../../audit/makeHistory.ts';
import { readProcessorTime } from '../../calls/readProcess.ts';
import type { Curve } from '../curve.ts';
import { DOES_NOT_BEND, type Line, type Plot } from '../plot.ts';

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
  async measure({ rounds, isLong, progress, startMeanwhile }): Promise<Plot[]> {
    const sizes = isLong ? LONG_SIZES : SIZES;
    const readers = new Map<number, Reader>();
    try {
      progress(`making ${sizes.join(', ')} rows`);
      const stackStarts = startMeanwhile();
      const opened = await Promise.allSettled(sizes.map((size) => openReader(size)));
      await stackStarts;
      for (const [index, result] of opened.entries())
        if (result.status === 'fulfilled') readers.set(sizes[index] ?? 0, result.value);
      for (const result of opened) if (result.status === 'rejected') throw result.reason;
      const lookUp = toLine('usage of one call', 'µs', sizes, { atMost: DOES_NOT_BEND });
      const ofKey = toLine('a key’s month', 'ms', sizes, {});
      const ofWorkspace = toLine('a workspace’s month', 'ms', sizes, {});
      // The first round warms up: pages are read, and statements planned.
      for (let round = 0; round <= rounds; round += 1) {
        for (const [size, reader] of round % 2 === 0 ? readers : [...readers].reverse()) {
          progress(`${size} rows, round ${round} of ${rounds}`);
          const us = await measureLookUps(reader);
          const keyMs = await measureMonth(reader, sumMonthOfKey);
          const workspaceMs = await measureMonth(reader, sumMonthOfWorkspace);
          if (round === 0) continue;
          for (const [line, value] of [
            [lookUp, us],
            [ofKey, keyMs],
            [ofWorkspace, workspaceMs],
          ] as const)
            line.points.find((point) => point.size === size)?.rounds.push(value);
        }
      }
      return [
        {
          name: 'rows',
          title: 'Postgres’ processor time to find a call by rows of the ledger',
          along: 'rows',
          lines: [lookUp],
        },
        // More rows are more hours to add up, until each key has called in each hour: there is no one size to stay at.
        {
          name: 'month',
          title: 'Time of a month’s sums by rows of the ledger, of 500 keys in 50 workspaces',
          along: 'rows',
          lines: [ofKey, ofWorkspace],
          mostAtLast: MOST_MS_OF_A_MONTH,
        },
      ];
    } finally {
      for (const { db, ledger } of readers.values()) {
        await db.$disconnect();
        await ledger.close();
      }
    }
  },
};

const toLine = (name: string, unit: string, sizes: number[], limits: Pick<Line, 'atMost'>): Line => ({
  name,
  unit,
  ...limits,
  points: sizes.map((size) => ({ size, rounds: [] })),
});

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
