import type { RecoveryBody } from '@turnpike/internal-api/usageLedger';
import { z } from 'zod';
import { type Context, defineCommand, type Report, reportOrWatch, WATCH } from '../cli/command.ts';
import type { Health } from '../stack/readHealth.ts';

type Router = RecoveryBody['routers'][number];

const GATES = [
  { title: 'gate' },
  { title: 'slots' },
  { title: 'redis' },
  { title: 'mark' },
  { title: 'since' },
  { title: 'seen by', isNumber: true },
  { title: 'waits for' },
];
const ROUTERS = [
  { title: 'service/host' },
  { title: 'id' },
  { title: 'slots' },
  { title: 'redis' },
  { title: 'state' },
  { title: 'for', isNumber: true },
  { title: '' },
];

const STATES: Record<Router['state'], string> = {
  admits: 'admits calls',
  waits: 'has put its calls back and waits for others',
  has_not_put_back: 'has not put its calls back',
  sees_no_redis: 'sees no Redis that answers as a primary',
  is_stranger: 'sees another Redis than the region counts in',
  is_silent: 'is not heard: dead, or cut off from the ledger; nobody waits for it',
};

/** Ids are told apart by less than all of them; `--json` has the whole. */
const toShort = (id: string | null): string => id?.slice(0, 12) ?? '-';
const toSecond = (instant: string): string => `${instant.slice(0, 19).replace('T', ' ')}Z`;
const toList = (names: string[]): string => (names.length > 0 ? names.join(', ') : '-');

/** How operators know a process: `model-router/router-7d9c`, or its id where it does not say. */
const toPlace = ({ service, host, router_id: id }: Router): string => (service === null ? id : `${service}/${host}`);
/** Names the processes behind ids; two of one host are told apart by their ids. */
function toNames(ids: string[], routers: Router[]): string[] {
  return ids.map((id) => {
    const router = routers.find(({ router_id: known }) => known === id);
    return router?.service ? `${toPlace(router)} (${toShort(id)})` : id;
  });
}

async function report({ services, readHealth, table }: Context): Promise<Report> {
  const [recovery, ...sweepers] = await Promise.all([
    services.ledger.getRecovery(),
    readHealth('model-router'),
    readHealth('media-jobs'),
  ]);
  const { now, gates, routers, timeline } = recovery;
  const swept = sumUp(sweepers);
  const isGiven = timeline.current === timeline.caught_up_with;
  const isHeard = routers.some(({ state, service }) => state !== 'is_silent' && service !== 'media-jobs');
  const overdue = routers.filter(({ is_overdue: isOverdue }) => isOverdue);
  const toDuration = (since: string | null): string =>
    since === null ? '-' : `${Math.round((Date.parse(now) - Date.parse(since)) / 1_000)} s`;
  const gateRows = gates.map((gate) => [
    gate.is_open ? 'open' : 'closed',
    toShort(gate.shard),
    toShort(gate.redis_id),
    toShort(gate.mark),
    toSecond(gate.since),
    String(gate.seen_by),
    toList(toNames(gate.waits_for, routers)),
  ]);
  const routerRows = routers.map((router) => [
    router.service === null ? '-' : toPlace(router),
    toShort(router.router_id),
    toShort(router.shard),
    toShort(router.redis_id),
    STATES[router.state],
    toDuration(router.since),
    router.is_overdue ? 'OVERDUE' : '',
  ]);
  return {
    document: { ...recovery, swept_calls: swept },
    text: [
      ...(gates.length > 0 ? [table(GATES, gateRows), ''] : []),
      ...(routers.length > 0 ? [table(ROUTERS, routerRows), ''] : []),
      `  ${toTimelineText(timeline, isGiven)}`,
      `  Calls that had lost their router, swept by the processes that answer: ${swept ?? '?'}.`,
      `  ${toVerdict(recovery, { isGiven, isHeard, overdue })}`,
    ].join('\n'),
    isFailure: !isGiven || !isHeard || overdue.length > 0,
  };
}

/** Adds up the calls that processes swept since each began. Null if none says. */
function sumUp(sweepers: Health[]): number | null {
  const known = sweepers.filter(({ metrics }) => metrics.size > 0);
  if (known.length === 0) return null;
  return known.reduce((total, { metrics }) => total + (metrics.get('turnpike_swept_holds_total') ?? 0), 0);
}

function toTimelineText({ current, lag_records: lag }: RecoveryBody['timeline'], isGiven: boolean): string {
  const left = `${lag ?? '?'} records of the event log are not in the ledger yet`;
  return isGiven
    ? `The ledger gives balances on timeline ${current} of Postgres; ${left}.`
    : `The ledger gives NO balances on timeline ${current} of Postgres before the event log is read again; ${left}.`;
}

function toVerdict(
  { routers }: RecoveryBody,
  { isGiven, isHeard, overdue }: { isGiven: boolean; isHeard: boolean; overdue: Router[] },
): string {
  if (!isHeard) return 'NO model-router is heard: none admits chat calls.';
  if (overdue.length > 0) {
    const ids = [...new Set(overdue.map(({ router_id: id }) => id))];
    return `OVERDUE, look at: ${toNames(ids, routers).join(', ')}.`;
  }
  if (!isGiven) return 'The event log is waited for.';
  return routers.every(({ state }) => state === 'admits' || state === 'is_silent')
    ? 'All is well: every router that is heard admits calls.'
    : 'A recovery is under way, in its time.';
}

export const showRecovery = defineCommand({
  words: 'recovery',
  summary:
    'which Redis counts, which routers admit calls and what the others lack; exit code 1 where that takes too long, or no model-router is heard',
  input: z.object({ watch: WATCH }),
  run: ({ watch }, context) => reportOrWatch(report, { watch, context }),
});
