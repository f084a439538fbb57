import { type BudgetPeriod, type Day, sinceOf } from '@turnpike/internal-api/budgetPeriod';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { headOf } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';
import { readRedisTime } from '../redis/redisServer.ts';
import type { Session, SessionState } from '../redis/sessionState.ts';

/** A refused call asks for newer credits; more often than this a workspace's refusals share one answer. */
const REFRESH_INTERVAL_MS = 500;
const MAX_WORKSPACES = 10_000;
/** Longest wait for what is asked about recorded calls: no call waits for it. A statement for it ends after 6 s. */
const RECORDED_TIMEOUT_MS = 10_000;
/** Steps of a count that one load waits for: enough for a million pending calls and as many keys. */
const MAX_STEPS = 4_000;
/** Workspaces that the ledger is asked about at once. */
const WORKSPACES_A_QUESTION = 100;

/** The period of a key's budget that is in progress by Redis' clock, or the first day of one. */
type Since = BudgetPeriod | Day;

/** A question to the ledger about a workspace: its sums, those of some keys, and whether it has recorded some calls. */
export interface Question {
  workspaceId: string;
  keyIds?: string[];
  callIds?: string[];
  /** `YYYY-MM`; the one that Redis' clock says unless it is given. */
  month?: string;
  /** Keys of which sums of a period may be wanted, as far as this owner knows which, and the period of the asked key. */
  calledKeyIds?: string[];
  since?: Since;
  /**
   * The state in which a call may be dropped if the ledger has only an `unknown` row, keyed by call id. It is the
   * lapsed session that holds the call, or `ended` if the call itself ended as unknown.
   */
  unknownAs?: ReadonlyMap<string, string>;
}

/**
 * The one way that the ledger's sums come to Redis. Each of these asks the ledger and takes over what it says: newer sums, and the
 * calls that they contain are pending no more. All reject while the ledger does not answer, or this owner has no session.
 */
export interface Absorber {
  /**
   * Brings a workspace's sums, those of a key and of a period of it, and those of a month, or of this one. What is asked at once shares one
   * answer. Returns whether what Redis counts with has changed.
   */
  load(workspaceId: string, keyId?: string, month?: string, since?: Since): Promise<boolean>;
  /** Does what `load` does, at most every 500 ms. */
  refresh(workspaceId: string): Promise<boolean>;
  /** Does what `load` does, but asks the ledger after this call began. */
  reload(workspaceId: string): Promise<boolean>;
  /** Returns which of the calls are recorded. Drops those from Redis that have ended so or have lost their owner. */
  absorbCalls(questions: Question[]): Promise<RecordedCalls>;
}

/** Calls that have a row: one for good, or an `unknown` one, which another may follow unless the call itself has ended so. */
export interface RecordedCalls {
  final: ReadonlySet<string>;
  unknown: ReadonlySet<string>;
  /** Those with a dead letter that waits to be replayed, whether they have a row or not. */
  deadLetters: ReadonlySet<string>;
}

export interface AbsorberOptions {
  redis: Redis;
  ledgerUrl: string;
  internalHeaders: InternalHeaders;
  /** Longest wait for balances. */
  timeoutMs?: number;
  sessionState: Pick<SessionState, 'session' | 'suspect' | 'putBacks'>;
}

/** The last part has the id of each key whose period the answer lacks, and the first day of that period. */
const answerSchema = z.tuple([z.enum(['absorbed', 'counting', 'closed']), z.number(), z.array(z.string())]);
/** Keys with a budget of a period that are remembered. Beyond that all are forgotten, and learned again from Redis. */
const MAX_PERIODS = 10_000;

const isPeriod = (since: Since): since is BudgetPeriod => !/^\d/.test(since);

export function createAbsorber({
  redis,
  ledgerUrl,
  internalHeaders,
  sessionState,
  timeoutMs = 1_000,
}: AbsorberOptions): Absorber {
  const absorb = defineScript(redis, 'absorb');
  const ledger = createClient(usageLedgerApi, { url: ledgerUrl, internalHeaders, timeoutMs });
  const loading = new Map<string, Promise<boolean>>();
  const loadedAt = new Map<string, number>();
  /** First day of the period that Redis counts, by key. It may be outdated. */
  const sinceByKey = new Map<string, string>();

  function getSession(): Session {
    const { session } = sessionState;
    if (!session) throw new Error('this owner has no session with Redis');
    return session;
  }

  function remember(keyId: string, since: string): void {
    if (sinceByKey.size >= MAX_PERIODS) sinceByKey.clear();
    sinceByKey.set(keyId, since);
  }

  async function ask(questions: Question[], longestMs: number) {
    // The month is that of Redis' clock, which dates admissions.
    const nowMs = await readRedisTime(redis);
    const now = new Date(nowMs).toISOString().slice(0, 'YYYY-MM'.length);
    const workspaces: Parameters<typeof ledger.absorb>[0]['body']['workspaces'] = [];
    for (const { workspaceId, keyIds = [], calledKeyIds = [], callIds = [], month = now, since } of questions) {
      if (since) for (const keyId of keyIds) remember(keyId, isPeriod(since) ? sinceOf(since, nowMs) : since);
      const sinceOfKeys: Record<string, string> = {};
      for (const keyId of [...keyIds, ...calledKeyIds]) {
        const day = sinceByKey.get(keyId);
        if (day !== undefined) sinceOfKeys[keyId] = day;
      }
      workspaces.push({ workspace_id: workspaceId, month, keys: keyIds, calls: callIds, since: sinceOfKeys });
    }
    return ledger.absorb({ timeoutMs: longestMs, body: { workspaces } });
  }
  type Answer = Awaited<ReturnType<typeof ask>>;

  /** Says whether what Redis counts with has changed, and whether it is still counting. */
  async function takeOver(
    timeline: number,
    sums: Answer['workspaces'][number],
    { mark, question: { keyIds = [], unknownAs } }: { mark: string; question: Question },
  ): Promise<{ hasChanged: boolean; isCounting: boolean }> {
    const { keys, args } = headOf(sums.workspace_id, mark);
    const [months, keySums] = [Object.entries(sums.months), Object.entries(sums.keys)];
    const unknown = sums.unknown.flatMap((callId) => [callId, unknownAs?.get(callId) ?? '']);
    const answer = await absorb(keys, [
      ...args,
      timeline,
      sums.seq,
      sums.left_nano_usd.toString(),
      months.length,
      keySums.length,
      sums.final.length,
      sums.unknown.length,
      ...months.flatMap(([month, spent]) => [month, spent.toString()]),
      ...keySums.flatMap(([keyId, spent]) => {
        const period = sums.since[keyId];
        const sinceFields = period ? [period.day, period.spent_nano_usd.toString()] : ['', '0'];
        return [keyId, spent.toString(), keyIds.includes(keyId) ? 1 : 0, ...sinceFields];
      }),
      ...sums.final,
      ...unknown,
    ]);
    const [outcome, hasChanged, lacking] = answerSchema.parse(answer);
    if (outcome === 'closed') {
      sessionState.suspect();
      throw new Error('Redis is not the one of this session any more');
    }
    for (let at = 0; at < lacking.length; at += 2) {
      const [keyId = '', since = ''] = lacking.slice(at);
      remember(keyId, since);
      // Until then no call of the key is admitted. Its next admission asks again where this fails.
      void load(sums.workspace_id, keyId).catch(() => undefined);
    }
    return { hasChanged: hasChanged === 1, isCounting: outcome === 'counting' };
  }

  async function bring(question: Question): Promise<boolean> {
    // Read before the ledger is asked: what it says may not go to a Redis that came later.
    const { mark } = getSession();
    const { timeline, workspaces } = await ask([question], timeoutMs);
    const [sums] = workspaces;
    if (!sums) throw new Error('the ledger left out a workspace');
    let { hasChanged, isCounting } = await takeOver(timeline, sums, { mark, question });
    // Admissions wait until all pending calls are counted.
    for (let step = 1; isCounting; step += 1) {
      if (step === MAX_STEPS) throw new Error(`pending calls are not counted after ${MAX_STEPS} steps`);
      ({ isCounting } = await takeOver(timeline, sums, { mark, question }));
      hasChanged = true;
    }
    if (loadedAt.size >= MAX_WORKSPACES) loadedAt.clear();
    loadedAt.set(question.workspaceId, performance.now());
    return hasChanged;
  }

  function load(workspaceId: string, keyId = '', month = '', since?: Since): Promise<boolean> {
    const name = `${workspaceId} ${keyId} ${month} ${since ?? ''}`;
    const running = loading.get(name);
    if (running) return running;
    const question = {
      workspaceId,
      keyIds: keyId === '' ? [] : [keyId],
      ...(month !== '' && { month }),
      ...(since && { since }),
    };
    const bringing = bring(question).finally(() => loading.delete(name));
    loading.set(name, bringing);
    return bringing;
  }

  async function absorbSome(questions: Question[]): Promise<Answer['workspaces']> {
    const { mark } = getSession();
    const { timeline, workspaces } = await ask(questions, Math.max(timeoutMs, RECORDED_TIMEOUT_MS));
    const byWorkspace = new Map(questions.map((question) => [question.workspaceId, question]));
    const taken = await Promise.allSettled(
      workspaces.map(async (sums) => {
        const question = byWorkspace.get(sums.workspace_id);
        if (!question) throw new Error('the ledger spoke of a workspace that was not asked about');
        await takeOver(timeline, sums, { mark, question });
        return sums;
      }),
    );
    const done: Answer['workspaces'] = [];
    let failed: PromiseRejectedResult | undefined;
    for (const one of taken)
      if (one.status === 'fulfilled') done.push(one.value);
      else failed ??= one;
    if (failed && done.length === 0) throw failed.reason;
    return done;
  }

  return {
    load,
    async reload(workspaceId) {
      // The ledger may have answered that one already. Who waits here as well shares the one that follows.
      await loading.get(`${workspaceId}   `)?.catch(() => undefined);
      return load(workspaceId);
    },
    async refresh(workspaceId) {
      if (performance.now() - (loadedAt.get(workspaceId) ?? Number.NEGATIVE_INFINITY) < REFRESH_INTERVAL_MS)
        return false;
      return load(workspaceId);
    },
    async absorbCalls(questions) {
      const { token } = getSession();
      const { putBacks } = sessionState;
      const [final, unknown, deadLetters] = [new Set<string>(), new Set<string>(), new Set<string>()];
      for (let start = 0; start < questions.length; start += WORKSPACES_A_QUESTION)
        for (const sums of await absorbSome(questions.slice(start, start + WORKSPACES_A_QUESTION))) {
          for (const callId of sums.final) final.add(callId);
          for (const callId of sums.unknown) unknown.add(callId);
          for (const callId of sums.dead_letters) deadLetters.add(callId);
        }
      // They may be under way to Redis again with what is put back, and nobody would ask about them any more.
      if (sessionState.session?.token !== token || sessionState.putBacks !== putBacks)
        throw new Error('calls were put back while they were asked about');
      return { final, unknown, deadLetters };
    },
  };
}
