import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { drawMeetings, PROCESSES } from './meetings/drawMeetings.ts';
import { findFaults } from './meetings/findFaults.ts';
import { type Meetings, type Met, openMeetings } from './meetings/openMeetings.ts';

/** A new seed each time, which is printed at the end. MEETINGS_SEED draws those of an earlier run, and MEETINGS more. */
const SEED = Number(process.env.MEETINGS_SEED ?? randomInt(2 ** 31));
const MEETINGS = Number(process.env.MEETINGS ?? 200);
const BATCH = 30;
/** Only those count whose contenders began within this; the others are judged all the same. */
const WITHIN_MS = 1;
const LONGEST_MS = 120_000 + MEETINGS * 500;

let meetings: Meetings;
beforeAll(async () => {
  meetings = await openMeetings();
});
afterAll(() => meetings.close());

it(
  `ends ${MEETINGS} jobs once and charges each once, whoever else comes within a millisecond of its end`,
  async () => {
    const startedAt = performance.now();
    const workerOf = (index: number): number => Math.floor(index / BATCH) % PROCESSES;
    const draw = drawMeetings(SEED, { workerOf });
    const spreads: number[] = [];
    const winners = new Map<string, number>();
    const findings: object[] = [];
    const sums = { completed: 0, rows: 0n, settled: 0n };
    let within = 0;
    let overlapping = 0;
    let again = 0;
    while (within < MEETINGS) {
      const batch = Array.from({ length: BATCH }, draw);
      for (const met of await meetings.hold(batch, workerOf(batch[0]?.index ?? 0))) {
        const faults = findFaults(met);
        if (faults.length > 0) findings.push({ faults, meeting: met.meeting, ends: met.ends, deleted: met.deleted });
        const sent = met.passages.map(({ sentAt }) => sentAt);
        const spread = Math.max(...sent) - Math.min(...sent);
        spreads.push(spread);
        if (spread <= WITHIN_MS) within += 1;
        if (Math.max(...sent) < Math.min(...met.passages.map(({ answeredAt }) => answeredAt))) overlapping += 1;
        again += met.settlements.length - 1;
        const winner = toWinner(met);
        winners.set(winner, (winners.get(winner) ?? 0) + 1);
        sums.completed += met.row.state === 'completed' ? 1 : 0;
        sums.rows += met.row.chargeNanoUsd ?? 0n;
        sums.settled += met.settlements[0]?.chargeNanoUsd ?? 0n;
      }
      if (findings.length > 100) break;
    }
    spreads.sort((a, b) => a - b);
    const at = (share: number): string => (spreads[Math.ceil(share * spreads.length) - 1] ?? 0).toFixed(3);
    process.stderr.write(
      `${spreads.length} meetings of MEETINGS_SEED=${SEED}, ${within} of them within ${WITHIN_MS} ms, in ` +
        `${((performance.now() - startedAt) / 1_000).toFixed(0)} s: began ${at(0.5)} ms apart (p50), ${at(0.99)} (p99), ` +
        `${at(1)} (most); ${overlapping} had all begun before one was answered; ${again} settled again; ` +
        `${findings.length} findings; ${[...winners].map(([who, count]) => `${count} ${who}`).join(', ')}\n`,
    );
    expect(findings.slice(0, 5)).toEqual([]);
    expect(findings).toHaveLength(0);
    expect(sums).toEqual({ ...sums, rows: BigInt(sums.completed) * 1_000_000n, settled: sums.rows });
    const attempts = await meetings.countAttempts();
    expect(attempts.counted).toBe(attempts.made);
    expect(await meetings.objectsLeft()).toEqual([]);
    expect([...winners.keys()]).toEqual(expect.arrayContaining(WINNERS));
  },
  LONGEST_MS,
);

/** So often that each wins in any run. */
const WINNERS = [
  'cancelled by its client',
  'completed before, deleted',
  'completed before, expired',
  'completed by another worker',
  'completed by its worker',
  'failed: timed_out',
];

function toWinner({ meeting, row, ends, worker, deleted }: Met): string {
  if (meeting.worker === 'has completed') return `completed before, ${deleted.includes(true) ? 'deleted' : 'expired'}`;
  if (row.state === 'failed') return `failed: ${row.errorCode}`;
  if (row.state === 'cancelled') return 'cancelled by its client';
  const winner = ends.find(({ rows }) => rows !== 0);
  return `completed by ${winner?.process === worker && row.attempt === 1 ? 'its' : 'another'} worker`;
}
