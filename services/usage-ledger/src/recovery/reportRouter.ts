import type { Logger } from '@turnpike/logging/createLogger';
import { type Queryable, retryConflicts } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';
import { type ReportedRouter, statements } from '../database/statements.ts';
import {
  type Judgement,
  judgeAdmissionState,
  LEAVE_MS,
  LONGEST_WAIT_MS,
  type Recovery,
} from './judgeAdmissionState.ts';

/** A router's periodic report on one shard. */
export interface RouterReport extends ReportedRouter {
  shard: string;
  /** A mark under which the router had re-registered, and which its Redis no longer has. */
  missingMark: string | null;
}

/** The answer to a router about the gate on its Redis. */
export interface GateAnswer {
  redisId: string | null;
  /** Mark of all keys in that Redis. Null for a router that sees no Redis. */
  mark: string | null;
  /** True if this report created the mark. Only its router writes the mark to Redis. */
  isToBeSet: boolean;
  isOpen: boolean;
  isStranger: boolean;
  waitsFor: string[];
}

const NO_GATE: GateAnswer = {
  redisId: null,
  mark: null,
  isToBeSet: false,
  isOpen: false,
  isStranger: false,
  waitsFor: [],
};
/** Time after which a foreign Redis is an alert. Routers move to another Redis one by one, but not this slowly. */
const STRANGE_AFTER_MS = LONGEST_WAIT_MS;

/**
 * Creates `reportRouter(report)`, which stores a router's report and changes the gates as far as all reports together
 * allow ([redis-lost.md](../../../../docs/redis-lost.md)). While the gate is open, reports do not wait for each other.
 */
export function createReportRouter({ db, log }: { db: Db; log: Pick<Logger, 'info' | 'warn' | 'error'> }) {
  /** Time since which each mark is a stranger's, in this process. Infinite after the alert. */
  const strangeSince = new Map<string, number>();

  function hasBeenStrangeForLong(mark: string): boolean {
    const since = strangeSince.get(mark) ?? performance.now();
    const isLong = performance.now() - since > STRANGE_AFTER_MS;
    strangeSince.set(mark, isLong ? Number.POSITIVE_INFINITY : since);
    return isLong;
  }

  return async function reportRouter(report: RouterReport): Promise<GateAnswer> {
    const [known] = await db.query(statements.hearRouter(report));
    const { shard, redisId } = report;
    if (redisId === null) return NO_GATE;
    if (known?.isOpen && known.mark !== report.missingMark)
      return { ...NO_GATE, redisId, mark: known.mark, isOpen: true };
    const about = { shard, redisId, missingMark: report.missingMark };
    const { isStranger, waitsFor, server, hasRaised } = await judgeAndMove(db, about, log);
    if (!server) throw new Error('a Redis that was just taken is not known');
    if (isStranger && hasBeenStrangeForLong(server.mark))
      log.error(
        { shard, redisId, routerId: report.routerId },
        'ALERT a router sees another Redis than the region counts in',
      );
    const { mark, isOpen } = server;
    return { redisId, mark, isToBeSet: hasRaised, isOpen, isStranger, waitsFor: isOpen ? [] : waitsFor };
  };
}

type About = Parameters<typeof judgeAdmissionState>[1] & { shard: string };
type Step = Judgement & { about: About };
type Judged = Judgement & { hasRaised: boolean };

/** Decides without a lock first, and locks only for a change, so that waiting routers do not wait for each other. */
async function judgeAndMove(db: Db, about: About, log: Pick<Logger, 'info' | 'warn'>): Promise<Judged> {
  const seen = judgeAdmissionState(await readRecovery(db, about.shard), about);
  if (!seen.move) return { ...seen, hasRaised: false };
  const steps = await retryConflicts(() =>
    db.transaction(async (tx) => {
      await tx.query(statements.lockRecovery());
      const taken: Step[] = [];
      for (;;) {
        const judgement = judgeAdmissionState(await readRecovery(tx, about.shard), about);
        taken.push({ ...judgement, about });
        if (!judgement.move) return taken;
        await apply(tx, judgement, about);
      }
    }),
  );
  for (const step of steps) logMove(step, log);
  const hasRaised = steps.some(({ move }) => move !== undefined && move.kind !== 'opened' && move.kind !== 'kept_out');
  return { ...(steps.at(-1) ?? seen), hasRaised };
}

async function readRecovery(db: Queryable, shard: string): Promise<Recovery> {
  const [row] = await db.query(statements.readRecovery(shard));
  if (!row) throw new Error('a SELECT of what is known gave no row');
  return row;
}

async function apply(tx: Queryable, { server, move }: Judgement, { shard, redisId }: About): Promise<void> {
  if (!server) return void (await tx.execute(statements.takeRedis({ shard, redisId })));
  /** Delays the opening of every other Redis, so that the routers of this one can re-register there first. */
  const delayOthers = () =>
    tx.execute(statements.othersRaisedAgoAtMost({ shard, redisId }, LONGEST_WAIT_MS - LEAVE_MS));
  switch (move?.kind) {
    case 'emptied':
      await tx.execute(statements.raiseMark(server));
      if (server.isOpen) await delayOthers();
      break;
    case 'kept_out':
      await tx.execute(statements.raisedAgo({ shard, redisId }, 0));
      break;
    case 'superseded':
      await tx.execute(statements.raiseMark(move.loser));
      await tx.execute(statements.raiseMark(server));
      await tx.execute(statements.raisedAgo({ shard, redisId }, LONGEST_WAIT_MS - LEAVE_MS));
      break;
    case 'opened':
      await tx.execute(statements.openRedis(server));
      // Otherwise, if this Redis is lost now, another one could open before a report has kept it out.
      await delayOthers();
      break;
  }
}

function logMove({ move, waitsFor, about: { shard, redisId } }: Step, log: Pick<Logger, 'info' | 'warn'>): void {
  switch (move?.kind) {
    case 'taken':
      log.warn({ shard, redisId, waitsFor }, 'the gate is closed on a new Redis until these routers have put back');
      break;
    case 'emptied':
      log.warn({ shard, redisId, waitsFor }, 'the gate is closed: Redis was emptied, and these routers put back again');
      break;
    case 'superseded':
      log.warn(
        { shard, redisId, left: move.loser.redisId },
        'the gate is closed on a Redis that most routers have left',
      );
      break;
    case 'opened':
      if (move.fenced.length === 0) log.info({ shard, redisId }, 'the gate is open');
      else log.warn({ shard, redisId, fenced: move.fenced }, 'the gate is open, and these routers have not put back');
      break;
  }
}

/**
 * Removes routers and event log readers that have been silent for an hour, and every Redis not seen for a day. Each is
 * new if it returns.
 */
export async function forgetSilent(db: Db): Promise<void> {
  await db.execute(sql`DELETE FROM router WHERE heard_at < clock_timestamp() - INTERVAL '1 hour'`);
  await db.execute(sql`DELETE FROM event_reader WHERE lapses_at < clock_timestamp() - INTERVAL '1 hour'`);
  await db.execute(sql`DELETE FROM redis_server WHERE seen_at < clock_timestamp() - INTERVAL '1 day'`);
}
