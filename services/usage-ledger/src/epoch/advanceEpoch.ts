/** Which Redis the gate counts in, and how far its routers have come with building its balances. */
export interface RedisEpoch {
  number: number;
  /** Replication id of the Redis; empty before there was one. */
  redisId: string;
  /** `draining`: what ended before goes to the event log. `asserting`: what runs gets its hold back. `open`: calls are admitted. */
  phase: 'draining' | 'asserting' | 'open';
  /** Since when reports have come without a gap: before, nobody could be heard. */
  listeningSince: Date;
  /** The first and the last replay of a dead letter whose call the balances lack; null while they lack none. */
  rebuildWantedSince: Date | null;
  rebuildWantedAt: Date | null;
}

/** A router as its reports show it. */
export interface Router {
  routerId: string;
  /** Names the process that reports; the next one has forgotten the calls of this one. */
  processId: string;
  heardAt: Date;
  isExpired: boolean;
  /** The epoch it has drained for, and when that was reported first. */
  drainedEpoch: number | null;
  drainedAt: Date | null;
  assertedEpoch: number | null;
}

/** A router's sign of life (heartbeat). */
export interface RouterReport {
  routerId: string;
  processId: string;
  /** Replication id of the Redis it sees; null while it sees none. */
  redisId: string | null;
  /** The epoch that the ledger last told it. */
  knownEpoch: number | null;
  drainedEpoch: number | null;
  assertedEpoch: number | null;
  /** The router has no call, an empty spool, and has not worked in an earlier epoch: nothing of it could be missing. */
  isBlank: boolean;
  /** The router holds a call that Redis does not know. */
  missesCalls: boolean;
}

const EXPIRY_MS = 15_000;
/** Who was cut off for longer comes back as a stranger, and raises the epoch if it has something to bring. */
const FORGOTTEN_AFTER_MS = 3_600_000;

/** How long a router has been silent, counted from when anybody could be heard. */
const silenceMsOf = ({ heardAt }: Router, { listeningSince }: RedisEpoch, now: Date): number =>
  now.getTime() - Math.max(heardAt.getTime(), listeningSince.getTime());

/** Marks who has been silent for 15 s; all others stay the objects they are. The expired are waited for no more. */
export const expireRouters = (epoch: RedisEpoch, routers: Router[], now: Date): Router[] =>
  routers.map((router) =>
    !router.isExpired && silenceMsOf(router, epoch, now) > EXPIRY_MS ? { ...router, isExpired: true } : router,
  );

/** The expired that have been silent for an hour: who crashes again and again leaves no more rows than an hour's. */
export const findForgotten = (epoch: RedisEpoch, routers: Router[], now: Date): Router[] =>
  routers.filter((router) => router.isExpired && silenceMsOf(router, epoch, now) > FORGOTTEN_AFTER_MS);

/** The router after its report. A new process has done nothing yet for an epoch that is still being built. */
export function takeReport(known: Router | undefined, report: RouterReport, epoch: RedisEpoch, now: Date): Router {
  const { routerId, processId } = report;
  const isSame = known?.processId === processId || epoch.phase === 'open';
  const past = known && isSame ? known : { drainedEpoch: null, drainedAt: null, assertedEpoch: null };
  const reached = (was: number | null, said: number | null) => (said === epoch.number ? said : was);
  const hasDrained = report.drainedEpoch === epoch.number && past.drainedEpoch !== epoch.number;
  return {
    routerId,
    processId,
    heardAt: now,
    isExpired: false,
    drainedEpoch: reached(past.drainedEpoch, report.drainedEpoch),
    drainedAt: hasDrained ? now : past.drainedAt,
    assertedEpoch: reached(past.assertedEpoch, report.assertedEpoch),
  };
}

/**
 * Whether a report makes the balances worthless, so that they have to be built anew: the Redis is another one, or has lost
 * calls, or here is a router that something may be missing of. Only a router that knows the epoch in force can tell.
 */
export function isRaisedBy(epoch: RedisEpoch, router: Router, report: RouterReport): boolean {
  const { redisId, knownEpoch, isBlank, missesCalls } = report;
  if (redisId === null || knownEpoch === null) return false;
  // The ledger's database was set back.
  if (knownEpoch > epoch.number) return true;
  if (knownEpoch < epoch.number) return false;
  if (redisId !== epoch.redisId) return true;
  if (epoch.phase === 'draining') return false;
  const tookPart =
    router.assertedEpoch === epoch.number || (epoch.phase === 'asserting' && router.drainedEpoch === epoch.number);
  if (missesCalls && tookPart) return true;
  return !tookPart && !isBlank;
}

const REPLAYS_APART_MS = 2_000;
const LONGEST_REPLAYS_MS = 10_000;

/** Routers report every second. */
const SILENT_MS = 3_000;

/**
 * Whether replayed dead letters want the balances to be built anew now: once for all that are replayed one after the other, so
 * 2 s after the last, or 10 s after the first. Not while a router is silent: nobody would be admitted until it has expired.
 */
export function isRebuildDue(
  { phase, rebuildWantedSince, rebuildWantedAt }: RedisEpoch,
  routers: Router[],
  now: Date,
): boolean {
  if (phase !== 'open' || !rebuildWantedSince || !rebuildWantedAt) return false;
  const sinceMs = (then: Date): number => now.getTime() - then.getTime();
  if (routers.some(({ isExpired, heardAt }) => !isExpired && sinceMs(heardAt) > SILENT_MS)) return false;
  return sinceMs(rebuildWantedAt) >= REPLAYS_APART_MS || sinceMs(rebuildWantedSince) >= LONGEST_REPLAYS_MS;
}

/** Whether a router may join as it is, having nothing to bring. */
export const joinsAsItIs = (epoch: RedisEpoch, report: RouterReport): boolean =>
  epoch.phase !== 'draining' && report.isBlank && report.redisId === epoch.redisId;

/** Whether nobody is left who has to drain. */
export const haveAllDrained = ({ number }: RedisEpoch, routers: Router[]): boolean =>
  routers.every(({ isExpired, drainedEpoch }) => isExpired || drainedEpoch === number);

/** Whether nobody is left who has to assert. */
export const haveAllAsserted = ({ number }: RedisEpoch, routers: Router[]): boolean =>
  routers.every(({ isExpired, assertedEpoch }) => isExpired || assertedEpoch === number);
