import { pause } from '@turnpike/lifecycle/pause';
import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Queryable } from '@turnpike/postgres/database';
import {
  type Claim,
  type Creating,
  type Creation,
  claimCall,
  claimFreeOne,
  readCreations,
  renewClaim,
  takeCreation,
} from './table/creations.ts';
import { CLAIM_BEAT_MS, CLAIM_MS, RETRY_MS } from './times.ts';

/** Longest wait of a repeat for the result of the call before. */
const LONGEST_WAIT_MS = 30_000;
const LOOK_AGAIN_MS = 100;
/** Tries of a statement, one a second. After that time a claim has lapsed, or a job has begun without its creator. */
const MOST_TRIES = 60;
const TRY_AGAIN_MS = 1_000;

/** Reads the creations that waiting repeats ask for. */
type CreationWatch = (claim: Claim) => Promise<Creation | undefined>;

/**
 * Reads creations for all waiting repeats in one statement, ten times a second, because a key may have many of them.
 */
export function watchCreations(db: Queryable): CreationWatch {
  let asked = new Map<string, PromiseWithResolvers<Creation | undefined>>();
  async function look(): Promise<void> {
    await pause(LOOK_AGAIN_MS, new AbortController().signal);
    const now = asked;
    asked = new Map();
    try {
      const seen = new Map((await readCreations(db, [...now.keys()])).map((each) => [each.creationId, each]));
      for (const [id, { resolve }] of now) resolve(seen.get(id));
    } catch (error) {
      for (const { reject } of now.values()) reject(error);
    }
  }
  return ({ creationId }) => {
    if (asked.size === 0) void look();
    const read = asked.get(creationId) ?? Promise.withResolvers<Creation | undefined>();
    asked.set(creationId, read);
    return read.promise;
  };
}

/**
 * Claims a call before anything is held or stored for it. A repeat gets the job of the call before once that is there,
 * or the claim if the call came to nothing. Rejects if neither comes in time, or the signal fires.
 */
export async function obtainClaim(
  db: Queryable,
  call: Creating,
  { watch, signal }: { watch: CreationWatch; signal: AbortSignal },
): Promise<{ claim: Claim } | { jobId: string }> {
  if (call.repeat === 0) return { claim: await claimCall(db, call, CLAIM_MS) };
  const take = () => takeCreation(db, call, { sinceMs: RETRY_MS, livesMs: CLAIM_MS });
  const taken = await take();
  if (taken.isMine) return { claim: taken };
  const deadline = performance.now() + LONGEST_WAIT_MS;
  for (let creation: Creation = taken; ; ) {
    if (creation.jobId !== null) return { jobId: creation.jobId };
    const claim = creation.isFree ? await claimFreeOne(db, creation, CLAIM_MS) : undefined;
    if (claim) return { claim };
    if (performance.now() > deadline) throw new Error('the call that is repeated did not come to an end in time');
    const seen = await watch(creation);
    signal.throwIfAborted();
    if (seen) {
      creation = seen;
      continue;
    }
    // The call before was refused and not kept for repeats. One waiting repeat claims it, and the others wait for that
    // one.
    const retaken = await take();
    if (retaken.isMine) return { claim: retaken };
    creation = retaken;
  }
}

/** Renews a claim for as long as its call runs. */
export const keepClaim = (
  db: Queryable,
  claim: Claim,
  { log, beatMs = CLAIM_BEAT_MS }: { log: Logger; beatMs?: number },
): Pick<Repetition, 'close'> =>
  repeat(() => renewClaim(db, claim, CLAIM_MS), {
    pauseMs: beatMs,
    pausesFirst: true,
    log,
    failing: 'the claim of a call cannot be renewed; a retry may run the call again',
  });

/** Runs a statement until the database has answered it, for a minute at most. Never rejects. */
export async function untilAnswered(statement: () => Promise<unknown>, { log }: { log: Logger }): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await statement();
      return;
    } catch (error) {
      log.warn({ err: error }, 'a statement on a creation was not answered');
      if (tries === MOST_TRIES) return;
    }
    await pause(TRY_AGAIN_MS, new AbortController().signal);
  }
}
