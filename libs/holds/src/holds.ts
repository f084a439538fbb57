import type { EventLogProducer } from '@turnpike/event-log/eventLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { Redis } from 'ioredis';
import type { Absorber } from './balances/absorb.ts';
import { createCallEndings } from './call/endCall.ts';
import type { EndedCall, Hold, PendingCalls } from './call/pendingCalls.ts';
import { createRecorder } from './call/recordCalls.ts';
import { createGiveBack, retryReleases } from './call/retryReleases.ts';
import { createSettler } from './call/settleCalls.ts';
import { sweepCalls } from './call/sweepCalls.ts';
import type { LeftEvents } from './call/takeUpSpool.ts';
import { followRedis } from './follow/followRedis.ts';
import { createPutBackSome, type PutBack } from './follow/putBack.ts';
import type { LedgerReports } from './follow/reportToLedger.ts';
import { type Admission, type AdmitRequest, createAdmit } from './gate/admit.ts';
import { createExtend, type ExtendRequest, type Extension } from './gate/extend.ts';
import { createLetIn } from './gate/letIn.ts';
import type { Standing } from './redis/standing.ts';
import type { Spool } from './spool/spool.ts';

/** What an owner has for its holds. */
export interface HoldsParts {
  redis: Redis;
  /** A name that comes back with the spool: this process has what the one before had. */
  owner: string;
  leaseMs: number;
  standing: Standing;
  pending: PendingCalls;
  spool: Spool;
  /** What the process before left in the spool. */
  left: LeftEvents;
  putBack: PutBack;
  absorber: Pick<Absorber, 'absorbCalls' | 'load'>;
  reports: Pick<LedgerReports, 'report'>;
  eventLog: EventLogProducer;
  metrics: Pick<InferenceMetrics, 'holdSwept' | 'alerted'>;
  log: Logger;
}

/** What a call does with its hold. */
export interface Holds {
  /** Takes the hold, or says which limit it does not fit into. What is taken is put back with all others until the call is settled. */
  admit(request: AdmitRequest): Promise<Admission>;
  /** Raises a hold where the gate carries the difference; in time it has no bound, as it is kept by the owner's session. */
  extend(hold: Hold, request: ExtendRequest): Promise<Extension>;
  /** Gives a hold back whose call never ran, with its request and tokens. Resolves once Redis has taken it, else ends the session. */
  release(hold: Hold): Promise<void>;
  /**
   * Has calls go on under this owner that were admitted before it was there: by a former process of it, which kept them elsewhere than in
   * the spool, or by another owner. Resolves once they stand in Redis under its session; until then they are held by whoever had them.
   */
  putBack(holds: Hold[]): Promise<void>;
  /**
   * Ends the call: its event is on disk, and the hold becomes the charge. False where neither disk nor Redis could take the event in
   * time; both are tried on.
   */
  settle(ended: EndedCall): Promise<boolean>;
  /** Ends it all: what is settled has so long to be recorded, and the next process of this owner, or a sweeper, has the rest. */
  close(graceMs: number): Promise<void>;
}

/** Keeps the calls of an owner from their admission until the ledger has recorded them. Nothing is admitted before it has a session. */
export function createHolds(parts: HoldsParts): Holds {
  const { redis, owner, leaseMs, standing, pending, left, putBack, absorber, reports, eventLog, metrics, log } = parts;
  const endings = retryReleases(createCallEndings(redis), { leaseMs });
  for (const ended of left.calls) pending.end(ended);
  const follower = followRedis({ redis, standing, owner, leaseMs, reports, putBack, log });
  const recorder = createRecorder(parts);
  for (const ended of left.calls) recorder.add(ended);
  for (const { id, json } of left.unreadable) recorder.addUnreadable(id, json);
  const sweeper = sweepCalls({ redis, absorber, standing, eventLog, metrics, log, leaseMs });
  const { takeOver, restore } = createPutBackSome({ putBack, pending, standing });
  const settler = createSettler({ ...parts, endings, recorder, restore });
  const giveBack = createGiveBack({ endings, standing, log });
  return {
    admit: createLetIn({ admit: createAdmit(redis, { standing, owner }), giveBack, pending, standing }),
    extend: createExtend(redis, { absorber, pending, standing }),
    async release(hold) {
      pending.drop(hold.callId);
      await giveBack(hold);
    },
    putBack: takeOver,
    settle: settler.record,
    async close(graceMs) {
      await settler.close();
      await sweeper.close();
      await recorder.close(graceMs);
      await follower.close();
    },
  };
}
