import { expect, it } from '@jest/globals';
import type { RecoveryBody } from '@turnpike/internal-api/usageLedger';
import type { Context } from '../cli/command.ts';
import { type Column, formatTable } from '../report/formatTable.ts';
import { showRecovery } from './showRecovery.ts';

const [REDIS_A, REDIS_B] = ['a'.repeat(40), 'b'.repeat(40)] as const;
const MARK = '0198f2d4-0000-7000-8000-000000000001';
const NOW = Date.parse('2026-11-22T19:30:00.000Z');
const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();

const gate = (fields: Partial<RecoveryBody['gates'][number]> = {}) => ({
  shard: '0-16383',
  redis_id: REDIS_A,
  mark: MARK,
  is_open: true,
  since: ago(3_600),
  seen_by: 1,
  waits_for: [],
  ...fields,
});
const router = (id: string, fields: Partial<RecoveryBody['routers'][number]> = {}) => ({
  shard: '0-16383',
  router_id: id,
  service: 'model-router' as const,
  host: `host-${id}`,
  redis_id: REDIS_A,
  state: 'admits' as const,
  since: null,
  is_overdue: false,
  ...fields,
});
const WELL: RecoveryBody = {
  now: ago(0),
  closed_since: null,
  gates: [gate()],
  routers: [router('r1')],
  timeline: { current: 1, caught_up_with: 1, lag_records: 0 },
};

function recovery(said: Partial<RecoveryBody>, metrics: [string, number][] = [['turnpike_swept_holds_total', 3]]) {
  const context = {
    services: { ledger: { getRecovery: async () => ({ ...WELL, ...said }) } },
    readHealth: async () => ({ state: 'ready', missing: [], metrics: new Map(metrics) }),
    table: (columns: Column[], rows: string[][]) => formatTable(rows, { columns }),
  } as unknown as Context;
  return showRecovery.run({}, context);
}

it('shows on one page that all is well', async () => {
  const { document, text, isFailure } = await recovery({});
  expect(isFailure).toBe(false);
  expect(document).toEqual({ ...WELL, swept_calls: 6 });
  expect(text).toBe(`  gate  slots    redis         mark          since                 seen by  waits for
  open  0-16383  aaaaaaaaaaaa  0198f2d4-000  2026-11-22 18:30:00Z        1  -

  service/host          id  slots    redis         state         for
  model-router/host-r1  r1  0-16383  aaaaaaaaaaaa  admits calls    -

  The ledger gives balances on timeline 1 of Postgres; 0 records of the event log are not in the ledger yet.
  Calls that had lost their router, swept by the processes that answer: 6.
  All is well: every router that is heard admits calls.`);
});

it('says what each router lacks and for how long, and is no failure as long as that is in time', async () => {
  const { text, isFailure } = await recovery({
    closed_since: ago(2),
    gates: [gate({ is_open: false, since: ago(2), seen_by: 2, waits_for: ['r2'] })],
    routers: [
      router('r1', { state: 'waits', since: ago(2) }),
      router('r2', { state: 'has_not_put_back', since: ago(2) }),
      router('r3', { state: 'is_silent', since: ago(40) }),
    ],
  });
  expect(isFailure).toBe(false);
  expect(text).toMatch(/^ {2}closed {2}0-16383 {2}a+ .* 2026-11-22 19:29:58Z +2 {2}model-router\/host-r2 \(r2\)$/m);
  expect(text).toMatch(/^ {2}model-router\/host-r1 +r1 .* has put its calls back and waits for others .* 2 s$/m);
  expect(text).toMatch(/^ {2}model-router\/host-r2 +r2 .* has not put its calls back .* 2 s$/m);
  expect(text).toMatch(
    /^ {2}model-router\/host-r3 +r3 .* is not heard: dead, or cut off from the ledger; nobody waits for it .* 40 s$/m,
  );
  expect(text).toContain('A recovery is under way, in its time.');
});

it('names whoever is overdue, and fails', async () => {
  const { text, isFailure } = await recovery({
    gates: [gate({ seen_by: 1, waits_for: ['r2', 'r3'] }), gate({ redis_id: REDIS_B, is_open: false })],
    routers: [
      router('r1'),
      router('r2', { state: 'sees_no_redis', redis_id: null, since: ago(70), is_overdue: true }),
      router('r3', { state: 'is_stranger', redis_id: REDIS_B, since: ago(9), is_overdue: true }),
    ],
  });
  expect(isFailure).toBe(true);
  expect(text).toMatch(
    /^ {2}model-router\/host-r2 {2}r2 {2}0-16383 {2}- .* sees no Redis that answers as a primary .* 70 s {2}OVERDUE$/m,
  );
  expect(text).toMatch(
    /^ {2}model-router\/host-r3 .* sees another Redis than the region counts in .* 9 s {2}OVERDUE$/m,
  );
  expect(text).toContain('OVERDUE, look at: model-router/host-r2 (r2), model-router/host-r3 (r3).');
});

it('fails while no balances are given, and where no router is heard', async () => {
  const behind = await recovery({ timeline: { current: 2, caught_up_with: 1, lag_records: null } }, []);
  expect(behind.isFailure).toBe(true);
  expect(behind.text).toContain('gives NO balances on timeline 2 of Postgres before the event log is read again; ?');
  expect(behind.text).toContain('swept by the processes that answer: ?.');
  expect(behind.text).toContain('The event log is waited for.');

  const alone = await recovery({ gates: [], routers: [router('r1', { state: 'is_silent', since: ago(5) })] });
  expect(alone.isFailure).toBe(true);
  expect(alone.text).toContain('NO model-router is heard: none admits chat calls.');
});

it('fails where media-jobs alone is heard, and names a router of the version before by its id', async () => {
  const media = router('m1', { service: 'media-jobs' });
  const old = router('r1', { service: null, host: null, state: 'is_silent', since: ago(5) });
  const { text, isFailure } = await recovery({ routers: [media, old] });
  expect(isFailure).toBe(true);
  expect(text).toMatch(/^ {2}media-jobs\/host-m1 +m1 .* admits calls/m);
  expect(text).toMatch(/^ {2}- +r1 .* is not heard/m);
  expect(text).toContain('NO model-router is heard: none admits chat calls.');
});
