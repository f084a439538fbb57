import { type BudgetPeriod, type Day, sinceOf } from '@turnpike/internal-api/budgetPeriod';
import { type Client, createClient } from '@turnpike/internal-api/transport/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { defineWorkspaceScript, readRedisTime, type WorkspaceScript } from '../redis/askRedis.ts';
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

type LedgerClient = Client<typeof usageLedgerApi>;
type AskedWorkspace = Parameters<LedgerClient['absorb']>[0]['body']['workspaces'][number];
type Sums = Awaited<ReturnType<LedgerClient['absorb']>>;

/** Whether the counts of Redis have changed, and whether Redis is still counting. */
interface TakenOver {
  hasChanged: boolean;
  isCounting: boolean;
}

/** Brings the ledger's sums to one shard. */
export class ShardAbsorber implements Absorber {
  readonly #redis: Redis;
  readonly #sessionState: AbsorberOptions['sessionState'];
  readonly #timeoutMs: number;
  readonly #ledger: LedgerClient;
  readonly #absorb: WorkspaceScript;
  readonly #loading = new Map<string, Promise<boolean>>();
  readonly #loadedAt = new Map<string, number>();
  /** First day of the period that Redis counts, by key. It may be outdated. */
  readonly #sinceByKey = new Map<string, string>();

  constructor({ redis, ledgerUrl, internalHeaders, sessionState, timeoutMs = 1_000 }: AbsorberOptions) {
    this.#redis = redis;
    this.#sessionState = sessionState;
    this.#timeoutMs = timeoutMs;
    this.#ledger = createClient(usageLedgerApi, { url: ledgerUrl, internalHeaders, timeoutMs });
    this.#absorb = defineWorkspaceScript(redis, 'absorb');
  }

  load(workspaceId: string, keyId = '', month = '', since?: Since): Promise<boolean> {
    const name = `${workspaceId} ${keyId} ${month} ${since ?? ''}`;
    const running = this.#loading.get(name);
    if (running) return running;
    const question = {
      workspaceId,
      keyIds: keyId === '' ? [] : [keyId],
      ...(month !== '' && { month }),
      ...(since && { since }),
    };
    const bringing = this.#bring(question).finally(() => this.#loading.delete(name));
    this.#loading.set(name, bringing);
    return bringing;
  }

  async reload(workspaceId: string): Promise<boolean> {
    // The ledger may have answered that one already. Who waits here as well shares the one that follows.
    await this.#loading.get(`${workspaceId}   `)?.catch(() => undefined);
    return this.load(workspaceId);
  }

  async refresh(workspaceId: string): Promise<boolean> {
    const loadedAt = this.#loadedAt.get(workspaceId) ?? Number.NEGATIVE_INFINITY;
    return performance.now() - loadedAt >= REFRESH_INTERVAL_MS && this.load(workspaceId);
  }

  async absorbCalls(questions: Question[]): Promise<RecordedCalls> {
    const { token } = this.#session;
    const { putBacks } = this.#sessionState;
    const [final, unknown, deadLetters] = [new Set<string>(), new Set<string>(), new Set<string>()];
    for (let start = 0; start < questions.length; start += WORKSPACES_A_QUESTION) {
      const byWorkspace = new Map<string, Question>();
      for (const question of questions.slice(start, start + WORKSPACES_A_QUESTION))
        byWorkspace.set(question.workspaceId, question);
      // Read before the ledger is asked: what it says may not go to a Redis that came later.
      const { mark } = this.#session;
      const timeoutMs = Math.max(this.#timeoutMs, RECORDED_TIMEOUT_MS);
      const { timeline, workspaces } = await this.#ask([...byWorkspace.values()], timeoutMs);
      const taking: Promise<TakenOver>[] = [];
      for (const sums of workspaces)
        taking.push(this.#takeOver(timeline, sums, { mark, question: byWorkspace.get(sums.workspace_id) }));
      let failed: PromiseRejectedResult | undefined;
      let isAnyTakenOver = false;
      for (const [at, taken] of (await Promise.allSettled(taking)).entries()) {
        if (taken.status === 'rejected') {
          failed ??= taken;
          continue;
        }
        isAnyTakenOver = true;
        for (const callId of workspaces[at]?.final ?? []) final.add(callId);
        for (const callId of workspaces[at]?.unknown ?? []) unknown.add(callId);
        for (const callId of workspaces[at]?.dead_letters ?? []) deadLetters.add(callId);
      }
      if (failed && !isAnyTakenOver) throw failed.reason;
    }
    // A put-back may bring these calls to Redis again, and no router would ask about them any more.
    if (this.#sessionState.session?.token !== token || this.#sessionState.putBacks !== putBacks)
      throw new Error('calls were put back while they were asked about');
    return { final, unknown, deadLetters };
  }

  /** Throws without a session. */
  get #session(): Session {
    const { session } = this.#sessionState;
    if (!session) throw new Error('this owner has no session with Redis');
    return session;
  }

  async #bring(question: Question): Promise<boolean> {
    // Read before the ledger is asked: what it says may not go to a Redis that came later.
    const { mark } = this.#session;
    const { timeline, workspaces } = await this.#ask([question], this.#timeoutMs);
    const [sums] = workspaces;
    if (!sums) throw new Error('the ledger left out a workspace');
    let { hasChanged, isCounting } = await this.#takeOver(timeline, sums, { mark, question });
    // Admissions wait until all pending calls are counted.
    for (let step = 1; isCounting; step += 1) {
      if (step === MAX_STEPS) throw new Error(`pending calls are not counted after ${MAX_STEPS} steps`);
      ({ isCounting } = await this.#takeOver(timeline, sums, { mark, question }));
      hasChanged = true;
    }
    if (this.#loadedAt.size >= MAX_WORKSPACES) this.#loadedAt.clear();
    this.#loadedAt.set(question.workspaceId, performance.now());
    return hasChanged;
  }

  async #ask(questions: Question[], timeoutMs: number): Promise<Sums> {
    // The month is that of Redis' clock, which dates admissions.
    const nowMs = await readRedisTime(this.#redis);
    const now = new Date(nowMs).toISOString().slice(0, 'YYYY-MM'.length);
    const workspaces: AskedWorkspace[] = [];
    for (const { workspaceId, keyIds = [], calledKeyIds = [], callIds = [], month = now, since } of questions) {
      if (since) for (const keyId of keyIds) this.#remember(keyId, isPeriod(since) ? sinceOf(since, nowMs) : since);
      const sinceOfKeys: Record<string, string> = {};
      for (const keyId of [...keyIds, ...calledKeyIds]) {
        const day = this.#sinceByKey.get(keyId);
        if (day !== undefined) sinceOfKeys[keyId] = day;
      }
      workspaces.push({ workspace_id: workspaceId, month, keys: keyIds, calls: callIds, since: sinceOfKeys });
    }
    return this.#ledger.absorb({ timeoutMs, body: { workspaces } });
  }

  /** Takes the sums of a workspace over to Redis, by `absorb.lua`. */
  async #takeOver(
    timeline: number,
    sums: Sums['workspaces'][number],
    { mark, question }: { mark: string; question: Question | undefined },
  ): Promise<TakenOver> {
    if (!question) throw new Error('the ledger spoke of a workspace that was not asked about');
    const { keyIds = [], unknownAs } = question;
    const months = Object.entries(sums.months);
    const keySums = Object.entries(sums.keys);
    const counts = [months.length, keySums.length, sums.final.length, sums.unknown.length];
    const args: (string | number)[] = [timeline, sums.seq, sums.left_nano_usd.toString(), ...counts];
    for (const [month, spent] of months) args.push(month, spent.toString());
    for (const [keyId, spent] of keySums) {
      const period = sums.since[keyId];
      args.push(keyId, spent.toString(), keyIds.includes(keyId) ? 1 : 0);
      args.push(period?.day ?? '', period?.spent_nano_usd.toString() ?? '0');
    }
    args.push(...sums.final);
    for (const callId of sums.unknown) args.push(callId, unknownAs?.get(callId) ?? '');
    const [outcome, hasChanged, lacking] = answerSchema.parse(await this.#absorb(sums.workspace_id, mark, args));
    if (outcome === 'closed') {
      this.#sessionState.suspect();
      throw new Error('Redis is not the one of this session any more');
    }
    for (let at = 0; at < lacking.length; at += 2) {
      const [keyId = '', since = ''] = lacking.slice(at);
      this.#remember(keyId, since);
      // Until then no call of the key is admitted. Its next admission asks again where this fails.
      void this.load(sums.workspace_id, keyId).catch(() => undefined);
    }
    return { hasChanged: hasChanged === 1, isCounting: outcome === 'counting' };
  }

  #remember(keyId: string, since: string): void {
    if (this.#sinceByKey.size >= MAX_PERIODS) this.#sinceByKey.clear();
    this.#sinceByKey.set(keyId, since);
  }
}
