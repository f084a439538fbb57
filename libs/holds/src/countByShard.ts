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
import { createFindShortage } from './gate/findShortage.ts';
import { createRaiseGeneration, createSetBackGeneration } from './gate/keyGeneration.ts';
import type { Shard, Shards } from './redis/shards.ts';

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

/** Counts each workspace in its shard, and rejects for those that nobody serves. */
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
   * Asks all shards at once, so that a closed or slow one keeps no other's calls from being found. An answer counts only if no call was
   * put back meanwhile, there or, where slots have moved, in another shard.
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
