import type { EventLogProducer } from '@turnpike/event-log/eventLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { Absorber } from './balances/absorb.ts';
import { type CallEndings, createCallEndings } from './call/endCall.ts';
import { createGiveBack } from './call/giveBack.ts';
import { type EndedCall, type Hold, type PendingCalls, pendingOf } from './call/pendingCalls.ts';
import { createRecorder } from './call/recordCalls.ts';
import { createSettler } from './call/settleCalls.ts';
import { sweepCalls } from './call/sweepCalls.ts';
import type { LeftEvents } from './call/takeUpSpool.ts';
import { followRedis } from './follow/followRedis.ts';
import { createPutBack, createPutBackSome, type PutBack } from './follow/putBack.ts';
import type { LedgerReports } from './follow/reportToLedger.ts';
import { type Admission, type AdmitRequest, createAdmit } from './gate/admit.ts';
import { createExtend, type ExtendRequest, type Extension } from './gate/extend.ts';
import { createLetIn } from './gate/letIn.ts';
import { refuseAgain } from './gate/refuseAgain.ts';
import { LAYOUT } from './redis/redisKeys.ts';
import { type OpenShards, perShard, type Shard } from './redis/shards.ts';
import type { Standing, StandingOf } from './redis/standing.ts';
import type { Spool } from './spool/spool.ts';

/** What an owner has for its holds. */
export interface HoldsParts {
  shards: Pick<OpenShards, 'of' | 'attend'>;
  /** A name that comes back with the spool: this process has what the one before had. */
  owner: string;
  leaseMs: number;
  pending: PendingCalls;
  spool: Spool;
  /** What the process before left in the spool. */
  left: LeftEvents;
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
  /** Returns whether this owner holds money for a call: the call is neither settled nor released here. */
  isHeld(callId: string): boolean;
  /**
   * Ends the call: its event is on disk, and the hold becomes the charge. False where neither disk nor Redis could take the event in
   * time; both are tried on.
   */
  settle(ended: EndedCall): Promise<boolean>;
  /** Ends it all: what is settled has so long to be recorded, and the next process of this owner, or a sweeper, has the rest. */
  close(graceMs: number): Promise<void>;
}

/** What a shard has for the holds of its workspaces. */
interface ShardHolds extends Pick<Holds, 'admit' | 'extend'> {
  standing: Standing;
  endings: CallEndings;
  giveBack: ReturnType<typeof createGiveBack>;
  putBack: PutBack;
}

/** Keeps the calls of an owner from their admission until the ledger has recorded them. Nothing is admitted before it has a session. */
export function createHolds(parts: HoldsParts): Holds {
  const { shards, owner, leaseMs, pending, left, absorber, reports, eventLog, metrics, log } = parts;
  for (const ended of left.calls) pending.end(ended);
  const inShard = perShard(holdIn);
  const of = (workspaceId: string): ShardHolds | undefined => {
    const shard = shards.of(workspaceId);
    return shard && inShard(shard);
  };
  /** In the shard that has the call by then, as slots may move meanwhile. */
  const endings: CallEndings = {
    settle: async (event, ...ending) => endingsOf(event.workspaceId).settle(event, ...ending),
    release: async (address) => endingsOf(address.workspaceId).release(address),
  };
  function endingsOf(workspaceId: string): CallEndings {
    const found = of(workspaceId);
    if (!found) throw new Error('no Redis serves this workspace');
    return found.endings;
  }

  /** Each has its own that wait to be released: a shard that is lost keeps no other waiting. */
  const giveBackFor = (standing: Pick<Standing, 'reportMissingCall'>) =>
    createGiveBack({ endings, standing, leaseMs, log });
  const giveBackUnserved = giveBackFor({ reportMissingCall: () => {} });

  function holdIn(shard: Shard): ShardHolds {
    const { redis, standing } = shard;
    const giveBack = giveBackFor(standing);
    return {
      standing,
      endings: createCallEndings(redis),
      giveBack,
      putBack: createPutBack(redis, { owner, pending: pendingOf(pending, (id) => shards.of(id) === shard) }),
      admit: createLetIn({ admit: refuseAgain(createAdmit(redis, { standing, owner })), giveBack, pending, standing }),
      extend: createExtend(redis, { absorber, pending, standing }),
    };
  }

  const following = shards.attend((shard) =>
    followRedis({ shard, owner, leaseMs, layout: LAYOUT, reports, putBack: inShard(shard).putBack, log }),
  );
  const standingOf: StandingOf<'session' | 'reportMissingCall'> = (workspaceId) => shards.of(workspaceId)?.standing;
  const recorder = createRecorder({ ...parts, standingOf });
  for (const ended of left.calls) recorder.add(ended);
  for (const { id, json } of left.unreadable) recorder.addUnreadable(id, json);
  const sweeping = shards.attend((shard) => sweepCalls({ shard, absorber, eventLog, metrics, log, leaseMs }));
  const { takeOver, restore } = createPutBackSome({ placeOf: of, pending });
  const settler = createSettler({ ...parts, standingOf, endings, recorder, restore });
  return {
    admit: async (request) => of(request.key.workspace.workspaceId)?.admit(request) ?? { outcome: 'closed' },
    extend: async (hold, request) => of(hold.workspaceId)?.extend(hold, request) ?? { outcome: 'closed' },
    async release(hold) {
      pending.drop(hold.callId);
      const giveBack = of(hold.workspaceId)?.giveBack ?? giveBackUnserved;
      await giveBack(hold);
    },
    putBack: takeOver,
    isHeld: (callId) => pending.isHeld(callId),
    settle: settler.record,
    async close(graceMs) {
      await settler.close();
      await sweeping.close();
      await recorder.close(graceMs);
      await following.close();
    },
  };
}
