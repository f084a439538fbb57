import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import type { Db } from '../database/createDb.ts';
import { inTransaction, type Transaction } from '../database/inTransaction.ts';
import { statements } from '../database/statements.ts';
import {
  expireRouters,
  findForgotten,
  haveAllAsserted,
  haveAllDrained,
  isRaisedBy,
  isRebuildDue,
  joinsAsItIs,
  type RedisEpoch,
  type Router,
  type RouterReport,
  takeReport,
} from './advanceEpoch.ts';
import { findLag } from './findLag.ts';

/** The answer to a router: the epoch, and whether it is one of those who count in it. */
export interface EpochAnswer {
  number: number;
  redisId: string;
  phase: RedisEpoch['phase'];
  isMember: boolean;
}

interface LockedEpoch {
  epoch: RedisEpoch;
  routers: Router[];
  /** The database's clock: one for all replicas of this service. */
  now: Date;
}

/**
 * Takes a router's report and moves the epoch on as far as all reports together allow (decision page: when Redis is lost).
 * One report at a time: whoever waits sees what the one before has changed.
 */
export async function reportRouter(
  { db, consumer }: { db: Db; consumer: Pick<EventLogConsumer, 'lag'> },
  report: RouterReport,
): Promise<EpochAnswer> {
  const answer = await inTransaction(db, (tx) => apply(tx, report));
  const { onceLogIsRead } = answer;
  if (!onceLogIsRead || (await findLag(consumer)) !== 0n) return answer;
  return inTransaction(db, (tx) => onceLogIsRead(tx, report.routerId, answer));
}

/** The ledger's state when it asked how far the log is read. */
interface Asked {
  number: number;
  now: Date;
}

type NextMove = (tx: Transaction, routerId: string, asked: Asked) => Promise<EpochAnswer>;

async function apply(
  tx: Transaction,
  report: RouterReport,
): Promise<EpochAnswer & Asked & { onceLogIsRead: NextMove | undefined }> {
  const locked = await lockEpoch(tx);
  const { now } = locked;
  let { epoch } = locked;
  const others = expireRouters(
    epoch,
    locked.routers.filter(({ routerId }) => routerId !== report.routerId),
    now,
  );
  let router = takeReport(
    locked.routers.find(({ routerId }) => routerId === report.routerId),
    report,
    epoch,
    now,
  );
  if (isRaisedBy(epoch, router, report)) {
    const number = Math.max(epoch.number, report.knownEpoch ?? 0) + 1;
    epoch = { ...epoch, number, redisId: report.redisId ?? '', phase: 'draining' };
  } else if (joinsAsItIs(epoch, report)) {
    router = { ...router, drainedEpoch: epoch.number, drainedAt: now, assertedEpoch: epoch.number };
  }
  const routers = [...others, router];
  if (epoch.phase === 'asserting' && haveAllAsserted(epoch, routers)) epoch = { ...epoch, phase: 'open' };
  await saveRouter(tx, router);
  await markExpired(
    tx,
    others.filter((other) => !locked.routers.includes(other)),
  );
  await forgetRouters(tx, findForgotten(epoch, others, now));
  if (epoch !== locked.epoch) await saveEpoch(tx, epoch);
  return { ...toAnswer(epoch, router), onceLogIsRead: findNextMove(epoch, routers, now), now };
}

function findNextMove(epoch: RedisEpoch, routers: Router[], now: Date): NextMove | undefined {
  if (epoch.phase === 'draining' && haveAllDrained(epoch, routers)) return beginAsserting;
  // Not before: nobody is admitted until the log is read, so one that lags or is down would stop all calls.
  if (isRebuildDue(epoch, routers, now)) return beginRebuild;
  return undefined;
}

/** The log was read to its end after everyone had drained, unless somebody came or drained while it was asked. */
const beginAsserting: NextMove = async (tx, routerId, asked) => {
  const { epoch, routers, now } = await lockEpoch(tx);
  const isSame = epoch.number === asked.number && epoch.phase === 'draining' && haveAllDrained(epoch, routers);
  const isComplete = routers.every(({ isExpired, drainedAt }) => isExpired || (drainedAt ?? now) <= asked.now);
  const router = getReported(routers, routerId);
  if (!isSame || !isComplete) return toAnswer(epoch, router);
  const moved: RedisEpoch = { ...epoch, phase: 'asserting' };
  await saveEpoch(tx, moved);
  return toAnswer(moved, router);
};

/** Raises the epoch for the dead letters that were replayed, unless it was raised while the log was asked. */
const beginRebuild: NextMove = async (tx, routerId, asked) => {
  const { epoch, routers, now } = await lockEpoch(tx);
  const router = getReported(routers, routerId);
  if (epoch.number !== asked.number || !isRebuildDue(epoch, routers, now)) return toAnswer(epoch, router);
  const raised: RedisEpoch = { ...epoch, number: epoch.number + 1, phase: 'draining' };
  await saveEpoch(tx, raised);
  return toAnswer(raised, router);
};

function getReported(routers: Router[], routerId: string): Router {
  const router = routers.find((known) => known.routerId === routerId);
  if (!router) throw new Error('a router that has just reported is not known');
  return router;
}

interface EpochRow extends Omit<RedisEpoch, 'phase'> {
  phase: string;
  now: Date;
}

/** Longest silence of all routers together in which they can still be said to be heard. */
const LONGEST_GAP_SECONDS = 5;

/** Locks the epoch and the routers until the transaction ends. */
async function lockEpoch(tx: Transaction): Promise<LockedEpoch> {
  const [row] = await tx.$queryRaw<EpochRow[]>(statements.hearRouter(LONGEST_GAP_SECONDS));
  if (!row) throw new Error('redis_epoch has lost its row');
  const { now, ...epoch } = row;
  return { epoch: { ...epoch, phase: toPhase(epoch.phase) }, routers: await tx.router.findMany(), now };
}

function toPhase(phase: string): RedisEpoch['phase'] {
  if (phase === 'draining' || phase === 'asserting' || phase === 'open') return phase;
  throw new Error('redis_epoch is in no known phase');
}

async function saveRouter(tx: Transaction, router: Router): Promise<void> {
  const { routerId, ...fields } = router;
  await tx.router.upsert({ where: { routerId }, create: router, update: fields });
}

async function markExpired(tx: Transaction, routers: Router[]): Promise<void> {
  if (routers.length > 0) await tx.router.updateMany({ where: among(routers), data: { isExpired: true } });
}

async function forgetRouters(tx: Transaction, routers: Router[]): Promise<void> {
  if (routers.length > 0) await tx.router.deleteMany({ where: among(routers) });
}

const among = (routers: Router[]) => ({ routerId: { in: routers.map(({ routerId }) => routerId) } });

/** With `asserting`, the table also begins its balances: they lack no replayed letter any more. */
async function saveEpoch(tx: Transaction, { number, redisId, phase }: RedisEpoch): Promise<void> {
  await tx.redisEpoch.updateMany({ data: { number, redisId, phase } });
}

const toAnswer = ({ number, redisId, phase }: RedisEpoch, router: Router): EpochAnswer => ({
  number,
  redisId,
  phase,
  isMember: router.assertedEpoch === number,
});
