import { setTimeout as delay } from 'node:timers/promises';
import type { EventLogProducer } from '@turnpike/event-log/eventLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import {
  type Absorber,
  type AbsorberOptions,
  type Question,
  type RecordedCalls,
  ShardAbsorber,
} from './balances/absorb.ts';
import {
  type AskedSpend,
  type Counters,
  type Credit,
  createReadCounters,
  findCredit,
  findKeySpend,
  findUsedRates,
  type KeySpend,
  type UsedRates,
} from './balances/readCounters.ts';
import { type EndedCall, type Hold, type PendingCalls, pendingOf } from './call/pendingCalls.ts';
import { createRecorder, type Recorder } from './call/recordCalls.ts';
import type { LeftEvents } from './call/recoverSpool.ts';
import { ReleaseQueue } from './call/releaseQueue.ts';
import { sweepCalls } from './call/sweepCalls.ts';
import { followRedis } from './follow/followRedis.ts';
import type { LedgerReports } from './follow/reportToLedger.ts';
import type { Admission, AdmitRequest } from './gate/admit.ts';
import type { ExtendRequest, Extension } from './gate/extend.ts';
import { createFindShortage } from './gate/findShortage.ts';
import { createRaiseGeneration, createSetBackGeneration } from './gate/keyGeneration.ts';
import { type CallAddress, LAYOUT } from './redis/redisKeys.ts';
import type { OpenShards, Shard, Shards } from './redis/shards.ts';
import { ShardHolds } from './shardHolds.ts';
import type { Spool } from './spool/spool.ts';

/** How often a shard is looked for that takes calls back. */
const PAUSE_MS = 100;

/** The parts that an owner makes its holds of. */
export interface HoldsParts {
  shards: Pick<OpenShards, 'of' | 'attend'>;
  /** A name that comes back with the spool: this process has what the one before had. */
  owner: string;
  leaseMs: number;
  pending: PendingCalls;
  spool: Spool;
  /** Events that the previous process left in the spool. */
  left: LeftEvents;
  absorber: Pick<Absorber, 'absorbCalls' | 'load'>;
  reports: Pick<LedgerReports, 'report'>;
  eventLog: EventLogProducer;
  metrics: Pick<InferenceMetrics, 'holdSwept' | 'alerted'>;
  log: Logger;
}

/** Keeps the calls of an owner from their admission until the ledger has recorded them. Nothing is admitted before it has a session. */
export class Holds {
  readonly #parts: HoldsParts;
  readonly #byShard = new WeakMap<Shard, ShardHolds>();
  /** Releases of calls whose workspace has no shard yet. */
  readonly #unserved: ReleaseQueue;
  readonly #recorder: Recorder;
  readonly #settler: Settler;
  readonly #following: { close(): Promise<void> };
  readonly #sweeping: { close(): Promise<void> };

  constructor(parts: HoldsParts) {
    this.#parts = parts;
    const { shards, owner, leaseMs, pending, spool, left, absorber, reports, eventLog, metrics, log } = parts;
    for (const ended of left.calls) pending.end(ended);
    this.#unserved = new ReleaseQueue({ release: this.#releaseOnce, onGiveUp: () => {}, leaseMs, log });
    this.#following = shards.attend((shard) => {
      const holds = this.#byShard.get(shard) ?? this.#openIn(shard);
      const putBack: ShardHolds['putBackAll'] = (session) => holds.putBackAll(session);
      return followRedis({ shard, owner, leaseMs, layout: LAYOUT, reports, putBack, log });
    });
    this.#recorder = createRecorder({ eventLog, absorber, pending, spool, shards, log });
    for (const ended of left.calls) this.#recorder.add(ended);
    for (const { id, json } of left.unreadable) this.#recorder.addUnreadable(id, json);
    this.#sweeping = shards.attend((shard) => sweepCalls({ shard, absorber, eventLog, metrics, log, leaseMs }));
    this.#settler = new Settler({ shardOf: this.#shardOf, spool, recorder: this.#recorder, pending, log });
  }

  /** Takes the hold, or says which limit it does not fit into. What is taken is put back with all others until the call is settled. */
  async admit(request: AdmitRequest): Promise<Admission> {
    const shard = this.#shardOf(request.key.workspace.workspaceId);
    return shard ? shard.admit(request) : { outcome: 'closed' };
  }

  /** Raises a hold where the balances carry the difference; in time it has no bound, as it is kept by the owner's session. */
  async extend(hold: Hold, request: ExtendRequest): Promise<Extension> {
    const shard = this.#shardOf(hold.workspaceId);
    return shard ? shard.extend(hold, request) : { outcome: 'closed' };
  }

  /**
   * Ends the call: its event is on disk, and the hold becomes the charge. False where neither disk nor Redis could take the event in
   * time; both are tried on.
   */
  settle(ended: EndedCall): Promise<boolean> {
    return this.#settler.settle(ended);
  }

  /** Gives a hold back whose call never ran, with its request and tokens. Resolves once Redis has taken it, else ends the session. */
  async release(hold: Hold): Promise<void> {
    this.#parts.pending.drop(hold.callId);
    const releases = this.#shardOf(hold.workspaceId)?.releases ?? this.#unserved;
    await releases.release(hold);
  }

  /**
   * Takes over calls that a former process of this owner kept elsewhere than in the spool, or that another owner had. Resolves once they
   * are in Redis under the session of this owner. Until then their former owner holds them.
   */
  putBack(holds: readonly Hold[]): Promise<void> {
    for (const hold of holds) this.#parts.pending.add(hold);
    return this.#putUntilBack(holds);
  }

  /** Returns whether this owner holds money for a call: the call is neither settled nor released here. */
  isHeld(callId: string): boolean {
    return this.#parts.pending.isHeld(callId);
  }

  /** Ends it all: what is settled has so long to be recorded, and the next process of this owner, or a sweeper, has the rest. */
  async close(graceMs: number): Promise<void> {
    await this.#settler.close();
    await this.#sweeping.close();
    await this.#recorder.close(graceMs);
    await this.#following.close();
  }

  readonly #shardOf = (workspaceId: string): ShardHolds | undefined => {
    const shard = this.#parts.shards.of(workspaceId);
    return shard && (this.#byShard.get(shard) ?? this.#openIn(shard));
  };

  #openIn(shard: Shard): ShardHolds {
    const { shards, owner, leaseMs, pending, absorber, log } = this.#parts;
    const pendingHere = pendingOf(pending, (workspaceId) => shards.of(workspaceId) === shard);
    const release = this.#releaseOnce;
    const made = new ShardHolds(shard, { owner, leaseMs, pending, pendingHere, absorber, release, log });
    this.#byShard.set(shard, made);
    return made;
  }

  readonly #releaseOnce = async (address: CallAddress): Promise<void> => {
    const shard = this.#shardOf(address.workspaceId);
    if (!shard) throw new Error('no Redis serves this workspace');
    await shard.release(address);
  };

  async #putUntilBack(holds: readonly Hold[]): Promise<void> {
    for (;;) {
      // The shard of a workspace may change from one time to the next.
      const stillHeld = holds.filter(({ callId }) => this.isHeld(callId));
      const byShard = Map.groupBy(stillHeld, ({ workspaceId }) => this.#shardOf(workspaceId));
      if (byShard.size === 0) return;
      if (byShard.size > 1) {
        await Promise.all([...byShard.values()].map((some) => this.#putUntilBack(some)));
        return;
      }
      const [shard] = byShard.keys();
      if (await shard?.putBackHeld(stillHeld)) return;
      await delay(PAUSE_MS, undefined, { ref: false });
    }
  }
}

const RETRY_MS = 100;
/** How long the end of a call waits for Redis where the disk has refused its event. */
const REFUSED_WAIT_MS = 5_000;
/** How often a disk that refused an event is tried again. */
const RESPOOL_MS = 1_000;

interface SettlerOptions {
  /** Returns the holds of the shard that has a workspace by now; undefined where none has. */
  shardOf: (workspaceId: string) => Pick<ShardHolds, 'sessionState' | 'settle' | 'restore'> | undefined;
  spool: Pick<Spool, 'append' | 'release'>;
  recorder: Pick<Recorder, 'add'>;
  pending: PendingCalls;
  log: Logger;
}

/** Puts the events of ended calls where they are safe, settles each call in Redis, and hands it on to be recorded. */
export class Settler {
  readonly #options: SettlerOptions;
  readonly #running = new Set<Promise<unknown>>();
  #isClosing = false;
  /** Whether the disk refused the event before: a refusal is logged once until the disk takes an event. */
  #isRefusing = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /**
   * Writes the event to the spool and settles the call in the background. Where the disk refuses the event, it is kept in
   * Redis beside the settled call, which is waited for. False when that takes too long: the event is in this process alone,
   * and is tried on until one of the two takes it. It stays as it is, since Redis may have taken it without saying so.
   */
  async settle(ended: EndedCall): Promise<boolean> {
    const { pending, spool, recorder, log } = this.#options;
    const { callId } = ended.event;
    pending.end(ended);
    try {
      await spool.append(callId, ended.json);
      this.#isRefusing = false;
    } catch (error) {
      if (!this.#isRefusing)
        log.error({ err: error, callId }, 'spool refuses events; they are kept in Redis until the disk takes them');
      this.#isRefusing = true;
      void this.#inBackground(this.#respool(ended));
      const settled = this.#settleUntilTaken(ended);
      void this.#inBackground(settled);
      recorder.add(ended);
      return Promise.race([settled, delay(REFUSED_WAIT_MS, false, { ref: false })]);
    }
    void this.#inBackground(this.#settleUntilTaken(ended));
    recorder.add(ended);
    return true;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#running);
  }

  /** Settles a call, and retries until Redis has taken it or the call is recorded. Returns false if this process ends before. */
  async #settleUntilTaken(ended: EndedCall): Promise<boolean> {
    const { shardOf, pending, log } = this.#options;
    const { event, json, maxTokens } = ended;
    const { callId, workspaceId } = event;
    for (let attempt = 0; pending.hasEnded(callId); attempt += 1) {
      const shard = shardOf(workspaceId);
      const session = shard?.sessionState.session;
      if (shard && session) {
        try {
          const found = await shard.settle(event, json, maxTokens);
          // Redis has lost the list of calls. The other calls of this owner are missing too, unless they were put back since.
          if (found === 'unlisted' && shard.sessionState.session === session) shard.sessionState.reportMissingCall();
          if (found !== 'none') return true;
          // Redis dropped the call because its owner seemed dead, or lost it. The next attempt finds the call.
          await shardOf(workspaceId)?.restore(ended);
        } catch (error) {
          if (attempt === 0) log.warn({ err: error, callId }, 'settlement waits for Redis');
        }
      }
      if (this.#isClosing) return false; // the sweeper finds its hold, the next process its event
      await delay(RETRY_MS * (1 + Math.random()));
    }
    return true;
  }

  /** Brings an event to the disk that refused it, for as long as it is nowhere else. */
  async #respool({ event, json }: EndedCall): Promise<void> {
    const { spool, pending } = this.#options;
    while (!this.#isClosing && pending.hasEnded(event.callId)) {
      await delay(RESPOOL_MS * (1 + Math.random()));
      try {
        await spool.append(event.callId, json);
        if (!pending.hasEnded(event.callId)) spool.release(event.callId);
        return;
      } catch {
        // Said once, when it was refused; new calls are refused for as long as this goes on.
      }
    }
  }

  async #inBackground(work: Promise<unknown>): Promise<void> {
    this.#running.add(work);
    await work;
    this.#running.delete(work);
  }
}

/** Operations on a workspace's balances in any shard. */
export interface Counting {
  absorber: Absorber;
  raiseGeneration: ReturnType<typeof createRaiseGeneration>;
  setBackGeneration: ReturnType<typeof createSetBackGeneration>;
  readCounters(workspaceId: string, after: string): Promise<Counters>;
  findShortage: ReturnType<typeof createFindShortage>;
  findKeySpend(key: AskedSpend): Promise<KeySpend>;
  findUsedRates(key: { workspaceId: string; keyId: string; rpm: number; tpm: number }): Promise<UsedRates>;
  findCredit(workspaceId: string): Promise<Credit>;
}

/** Counts each workspace in its shard. Rejects for a workspace whose hash slot no Redis serves. */
export function countByShard(
  shards: Pick<Shards, 'of'>,
  options: Omit<AbsorberOptions, 'redis' | 'sessionState'>,
): Counting {
  const byShard = new WeakMap<Shard, Counting>();
  function inShard(shard: Shard | undefined): Counting {
    if (!shard) throw new Error('no Redis serves this workspace');
    const known = byShard.get(shard) ?? countIn(shard, options);
    byShard.set(shard, known);
    return known;
  }
  const of = async (workspaceId: string): Promise<Counting> => inShard(shards.of(workspaceId));

  /** Asks one shard. Returns its answer, and the session and number of put-backs that it is true for. */
  async function absorbIn(shard: Shard | undefined, questions: Question[]) {
    const { absorber } = inShard(shard);
    const { session, putBacks } = shard?.sessionState ?? {};
    return { shard, questions, token: session?.token, putBacks, ...(await absorber.absorbCalls(questions)) };
  }

  /**
   * Asks all shards at once, so that a closed or slow shard delays no other. An answer counts only if its shard still serves the
   * workspaces, and put no call back meanwhile.
   */
  async function absorbCalls(questions: Question[]): Promise<RecordedCalls> {
    const asked: ReturnType<typeof absorbIn>[] = [];
    for (const [shard, some] of Map.groupBy(questions, ({ workspaceId }) => shards.of(workspaceId)))
      asked.push(absorbIn(shard, some));
    const [final, unknown, deadLetters] = [new Set<string>(), new Set<string>(), new Set<string>()];
    let failed: PromiseRejectedResult | undefined;
    let isAnyInForce = false;
    for (const one of await Promise.allSettled(asked)) {
      if (one.status === 'rejected') {
        failed ??= one;
        continue;
      }
      const { shard, token, putBacks, ...answer } = one.value;
      // Other shards may have been waited for meanwhile.
      if (shard?.sessionState.session?.token !== token || shard?.sessionState.putBacks !== putBacks) continue;
      if (answer.questions.some(({ workspaceId }) => shards.of(workspaceId) !== shard)) continue;
      isAnyInForce = true;
      for (const callId of answer.final) final.add(callId);
      for (const callId of answer.unknown) unknown.add(callId);
      for (const callId of answer.deadLetters) deadLetters.add(callId);
    }
    if (failed && !isAnyInForce) throw failed.reason;
    return { final, unknown, deadLetters };
  }

  return {
    absorber: {
      load: async (workspaceId, ...what) => (await of(workspaceId)).absorber.load(workspaceId, ...what),
      refresh: async (workspaceId) => (await of(workspaceId)).absorber.refresh(workspaceId),
      reload: async (workspaceId) => (await of(workspaceId)).absorber.reload(workspaceId),
      absorbCalls,
    },
    raiseGeneration: async (key) => (await of(key.workspaceId)).raiseGeneration(key),
    setBackGeneration: async (key, seen) => (await of(key.workspaceId)).setBackGeneration(key, seen),
    readCounters: async (workspaceId, after) => (await of(workspaceId)).readCounters(workspaceId, after),
    findShortage: async (key, amount) => (await of(key.workspace.workspaceId)).findShortage(key, amount),
    findKeySpend: async (key) => (await of(key.workspaceId)).findKeySpend(key),
    findUsedRates: async (key) => (await of(key.workspaceId)).findUsedRates(key),
    findCredit: async (workspaceId) => (await of(workspaceId)).findCredit(workspaceId),
  };
}

function countIn(shard: Shard, options: Omit<AbsorberOptions, 'redis' | 'sessionState'>): Counting {
  const { redis, sessionState } = shard;
  const absorber = new ShardAbsorber({ ...options, redis, sessionState });
  return {
    absorber,
    raiseGeneration: createRaiseGeneration(redis),
    setBackGeneration: createSetBackGeneration(redis),
    readCounters: createReadCounters(shard),
    findShortage: createFindShortage(redis, { sessionState }),
    findKeySpend: (key) => findKeySpend(shard, absorber, key),
    findUsedRates: (key) => findUsedRates(shard, key),
    findCredit: (workspaceId) => findCredit(shard, absorber, workspaceId),
  };
}
