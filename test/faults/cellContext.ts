import { setTimeout as pause } from 'node:timers/promises';
import { type Account, type AccountOptions, openAccount } from './account.ts';
import { checkBooks } from './books/checkBooks.ts';
import type { BookRules, Findings } from './books/evidence.ts';
import { findBusyEngines } from './books/findBusyEngines.ts';
import { ProblemList } from './books/problemList.ts';
import { readBalances } from './books/readBalances.ts';
import { readJobs } from './books/readJobs.ts';
import { readCredits, readRows, readTotals } from './books/readLedger.ts';
import { readPrices } from './books/readPrices.ts';
import { watchBalances } from './books/watchBalances.ts';
import { askEdge } from './load/askEdge.ts';
import { type CallRecord, countOutcomes, type Outcome } from './load/callRecord.ts';
import type { MediaOutcome, MediaRecord } from './load/media/mediaRecord.ts';
import { type MediaLoad, type MediaLoadOptions, startMedia } from './load/media/startMedia.ts';
import type { Random } from './load/random.ts';
import { type Load, type LoadOptions, startLoad } from './load/startLoad.ts';
import type { BookedStack } from './stack/bookedStack.ts';
import type { FaultStack } from './stack/startFaultStack.ts';

/** From repair to the first good answer, at most. */
const RECOVERY_LIMIT_MS = 30_000;
/** Interval of calls that test whether the stack serves again. */
const PROBE_INTERVAL_MS = 100;
/** From a kill to the moment that is noted of it. */
const NOTICED_WITHIN_MS = 500;
/** A backend removes a record without a row after two minutes, and looks for such every minute. */
const BACKENDS_EMPTY_WITHIN_MS = 200_000;
const UPLOADS_GONE_WITHIN_MS = 150_000;
const BOOKS_INTERVAL_MS = 300;
/** After so many leases it is certain that nothing more will come. */
const BOOKS_PATIENCE_LEASES = 6;

/** How calls may end; a number is how many may at most. */
export type AllowedOutcomes = Partial<Record<Outcome, true | number>>;
export type AllowedMediaOutcomes = Partial<Record<MediaOutcome, true | number>>;

/** The dependencies of a cell, and its results for the judgement. */
export class CellContext<Stack extends BookedStack = FaultStack> {
  readonly stack: Stack;
  readonly random: Random;
  /** How many completions the cell is to send. */
  readonly calls: number;
  /** A workspace with plenty of credit and 20 keys. */
  readonly account: Account;
  /** Differences in the books that the fault may cause. Default: none. */
  readonly rules: BookRules = { unknownAtMost: 0, enginesLie: false, enginesBreak: false, goneWithPostgres: new Set() };
  /** From the last call's end until the books are whole, at most: two leases, and two seconds for the row to come. */
  booksWithinMs: number;
  /** From repair to the first good answer; undefined where nothing was repaired. */
  recoveryMs: number | undefined;
  /** Measurements that are worth a line below the cell's. */
  readonly notes: string[] = [];
  readonly #accounts: Account[];
  readonly #loads: Load[] = [];
  readonly #mediaLoads: MediaLoad[] = [];
  readonly #problems = new ProblemList();
  readonly #startedAt = Date.now();
  readonly #watch: { close(): void };

  static async open<Stack extends BookedStack>(
    stack: Stack,
    options: { random: Random; calls: number },
  ): Promise<CellContext<Stack>> {
    await stack.untilReady();
    const context = new CellContext(stack, { ...options, account: await openAccount(stack) });
    // All at once, of a workspace that Redis has no balances of: none may be refused for that. Known from here on.
    const firsts = await Promise.all(
      context.account.keys.map((key) => context.startLoad({ calls: 1, keys: [key] }).done),
    );
    const isRefused = ({ error = '' }: CallRecord): boolean => error.startsWith('service_unavailable');
    context.check(!firsts.flat().some(isRefused), 'a first call was refused as its workspace was not known yet');
    return context;
  }

  private constructor(stack: Stack, { random, calls, account }: { random: Random; calls: number; account: Account }) {
    this.stack = stack;
    this.booksWithinMs = 2 * stack.leaseMs + 2_000;
    this.random = random;
    this.calls = calls;
    this.account = account;
    this.#accounts = [account];
    this.#watch = watchBalances(stack, this.#accounts, (what, example) => this.#problems.add(what, example));
  }

  /** Every call of the cell that has ended. */
  get records(): CallRecord[] {
    return this.#loads.flatMap(({ records }) => records);
  }

  /** Every media call of the cell that has ended. */
  get mediaRecords(): MediaRecord[] {
    return this.#mediaLoads.flatMap(({ records }) => records);
  }

  /** Calls sent so far. */
  get sent(): number {
    return [...this.#loads, ...this.#mediaLoads].reduce((sum, { sent }) => sum + sent, 0);
  }

  /** Calls under way. */
  get open(): number {
    return this.#loads.reduce((sum, { open }) => sum + open, 0);
  }

  async openAccount(options: AccountOptions): Promise<Account> {
    const account = await openAccount(this.stack, options);
    this.#accounts.push(account);
    return account;
  }

  /** Takes a workspace into the books that others made, and that has made no call yet. */
  addAccount(account: Account): void {
    this.#accounts.push(account);
  }

  /** Begins to send calls, all keys and models mixed. */
  startLoad(options: LoadOptions): Load {
    const { baseUrl, models } = this.stack;
    const load = startLoad({ baseUrl, models, keys: this.account.keys, random: this.random }, options);
    this.#loads.push(load);
    return load;
  }

  /** Begins to make media calls, and follows their jobs. */
  startMedia(options: MediaLoadOptions): MediaLoad {
    const { baseUrl, mediaModels: models } = this.stack;
    const load = startMedia({ baseUrl, models, keys: this.account.keys, random: this.random }, options);
    this.#mediaLoads.push(load);
    return load;
  }

  /** Sends no more chats than have been sent. */
  stopLoads(): void {
    for (const load of this.#loads) load.stop();
  }

  /** Notes a problem unless `isRight`. */
  check(isRight: boolean, what: string): void {
    if (!isRight) this.#problems.add(what);
  }

  /** Notes every call that ended otherwise than it may. */
  checkOutcomes(calls: readonly CallRecord[], allowed: AllowedOutcomes): void {
    this.#checkEnds(
      calls.map(({ outcome, error, callId = 'no call id' }) => ({ outcome, error, example: callId })),
      allowed,
    );
  }

  /** The same of media calls. */
  checkMediaOutcomes(calls: readonly MediaRecord[], allowed: AllowedMediaOutcomes): void {
    this.#checkEnds(
      calls.map(({ outcome, error, kind, jobId = 'no job' }) => ({ outcome, error, example: `${kind}, ${jobId}` })),
      allowed,
    );
  }

  #checkEnds<End extends string>(
    calls: readonly { outcome: End; error: string | undefined; example: string }[],
    allowed: Partial<Record<End, true | number>>,
  ): void {
    for (const [outcome, count] of countOutcomes(calls)) {
      const most: true | number | undefined = allowed[outcome];
      if (most === true || (most !== undefined && count <= most)) continue;
      this.#problems.add(`${count} calls ended in ${outcome}, ${most ?? 'none'} may`);
      // One status has many reasons.
      for (const { example, error } of calls.filter((call) => call.outcome === outcome))
        this.#problems.add(`a call ended in ${outcome}${error === undefined ? '' : `: ${error}`}`, example);
    }
  }

  /** Calls under way when a part was killed or frozen, which alone may have known how they ended, may end as unknown. */
  allowUnknownAtStrikes(calls: readonly CallRecord[], moments = this.stack.struckAt): void {
    const wasLost = ({ outcome, startedAt, endedAt }: CallRecord): boolean =>
      outcome !== 'ok' && moments.some((moment) => startedAt <= moment && moment <= endedAt + NOTICED_WITHIN_MS);
    this.rules.unknownAtMost += calls.filter(wasLost).length;
  }

  /** A call of which the engine never said what it used ends as unknown, whatever its client saw. */
  allowUnknownEndings(calls: readonly CallRecord[]): void {
    this.rules.unknownAtMost += calls.filter(({ usage, outcome }) => outcome !== 'ok' || !usage).length;
  }

  /** A client's read through the edge, by the first of the cell's keys where none is given. */
  ask(path: string, apiKey = this.account.keys[0]?.apiKey ?? ''): ReturnType<typeof askEdge> {
    return askEdge(this.stack.baseUrl, { path, apiKey });
  }

  /** Waits for a condition, and notes a problem where it does not come true in time. */
  async until(what: string, condition: () => Promise<boolean>, timeoutMs = 20_000): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!(await condition())) {
      if (performance.now() > deadline) {
        this.#problems.add(`waited ${timeoutMs} ms in vain for ${what}`);
        return;
      }
      await pause(PROBE_INTERVAL_MS);
    }
  }

  /** Waits until no engine works on a call that came after `since`. */
  untilEnginesStop(since: number, timeoutMs?: number): Promise<void> {
    const areStopped = async (): Promise<boolean> => {
      const lists = await Promise.all(this.stack.simulators.map((simulator) => simulator.listServed(since)));
      return lists.flat().every(({ state }) => state !== 'running');
    };
    return this.until('the engines to have stopped', areStopped, timeoutMs);
  }

  /** Waits until every job has ended and no media backend renders anything or has a record of a job. */
  async untilMediaIsOver(): Promise<void> {
    const { media, mediaBackends } = this.stack;
    const workspaceIds = this.#accounts.map(({ workspaceId }) => workspaceId);
    const since = performance.now();
    const isOver = async (): Promise<boolean> => {
      const jobs = await readJobs(media, workspaceIds);
      const areEmpty = await Promise.all(mediaBackends.map((backend) => backend.isEmpty()));
      return jobs.every(({ charge }) => charge !== null) && areEmpty.every(Boolean);
    };
    await this.until('every job to end, and the backends to have nothing left', isOver, BACKENDS_EMPTY_WITHIN_MS);
    this.notes.push(`the backends had nothing left after ${((performance.now() - since) / 1_000).toFixed(1)} s`);
  }

  /** Waits until the store has no upload of a job any more: what could not be removed is tried again after a minute. */
  untilUploadsAreGone(): Promise<void> {
    const workspaceIds = this.#accounts.map(({ workspaceId }) => workspaceId);
    const areGone = async (): Promise<boolean> =>
      (await readJobs(this.stack.media, workspaceIds)).every(({ inputs }) => inputs === 0);
    return this.until('the uploads of every job to be gone', areGone, UPLOADS_GONE_WITHIN_MS);
  }

  /** Notes a problem where the first good answer came later after the repair. */
  checkRecovery(withinMs: number): void {
    const isInTime = (this.recoveryMs ?? 0) <= withinMs;
    this.check(isInTime, `all is mended, and calls succeed only after ${withinMs / 1_000} s`);
  }

  /** Notes a problem where no call succeeds within this time from now, whatever is still broken. */
  async checkServing(withinMs: number): Promise<void> {
    const tookMs = await this.#untilServing();
    this.notes.push(`others admit again after ${((tookMs ?? RECOVERY_LIMIT_MS) / 1_000).toFixed(1)} s`);
    this.check((tookMs ?? RECOVERY_LIMIT_MS) <= withinMs, `others admit again only after ${withinMs / 1_000} s`);
  }

  /** Empties Redis in the running stack, and waits until calls succeed: all that the owners hold is put back. */
  async emptyRedis(): Promise<void> {
    const { redis } = this.stack;
    await Promise.all(('nodes' in redis ? redis.nodes('master') : [redis]).map((node) => node.flushall()));
    await this.#untilServing();
  }

  /** Says that the fault is mended, and waits until a call succeeds. */
  async repaired(): Promise<void> {
    this.recoveryMs = await this.#untilServing();
  }

  /** Sends single calls until one succeeds, and says how long that took. */
  async #untilServing(): Promise<number | undefined> {
    const since = performance.now();
    while (performance.now() - since < RECOVERY_LIMIT_MS) {
      const [record] = await this.startLoad({ calls: 1, tokens: [1, 1] }).done;
      if (record?.outcome === 'ok') return performance.now() - since;
      await pause(PROBE_INTERVAL_MS);
    }
    this.#problems.add(`no call succeeds within ${RECOVERY_LIMIT_MS / 1_000} s`);
    return undefined;
  }

  /** Waits until the books are whole, for six leases at most, and says what is in them and how long that took. */
  async closeBooks(): Promise<Findings & { closedMs: number }> {
    await Promise.all([...this.#loads, ...this.#mediaLoads].map(({ done }) => done as Promise<unknown>));
    const since = performance.now();
    let closed: Findings & { closedMs: number };
    do {
      if (performance.now() > since + BOOKS_INTERVAL_MS) await pause(BOOKS_INTERVAL_MS);
      closed = { ...(await this.#check()), closedMs: performance.now() - since };
      const isWhole = closed.lost + closed.doubled + closed.problems.length === 0 && closed.difference === 0n;
      if (isWhole) break;
    } while (performance.now() - since < BOOKS_PATIENCE_LEASES * this.stack.leaseMs);
    this.#watch.close();
    const isLate = closed.problems.length === 0 && closed.closedMs > this.booksWithinMs;
    const late = isLate
      ? [`the books were whole only after ${Math.round(closed.closedMs)} ms, ${this.booksWithinMs} ms are allowed`]
      : [];
    return { ...closed, problems: [...closed.problems, ...late, ...this.#problems.toLines()] };
  }

  async #check(): Promise<Findings> {
    const { ledger, catalog, media, mediaModels, redis, simulators, mediaBackends, operator } = this.stack;
    const workspaceIds = this.#accounts.map(({ workspaceId }) => workspaceId);
    try {
      const served = await Promise.all(simulators.map((simulator) => simulator.listServed(this.#startedAt)));
      const renders = await Promise.all(mediaBackends.map((backend) => backend.listRenders(this.#startedAt)));
      const read = this.#accounts.map(async ({ workspaceId, keys }) => {
        const keyIds = keys.map(({ keyId }) => keyId);
        await operator.reloadBalances(workspaceId);
        return [workspaceId, await readBalances(redis, workspaceId, keyIds)] as const;
      });
      const balances = new Map(await Promise.all(read));
      const engines = await operator.listEngines();
      const findings = checkBooks(
        {
          calls: this.records,
          served: served.flat(),
          media: {
            models: mediaModels,
            calls: this.mediaRecords,
            jobs: await readJobs(media, workspaceIds),
            renders: renders.flat(),
          },
          balances,
          totals: await readTotals(ledger, workspaceIds),
          rows: await readRows(ledger, workspaceIds),
          credits: await readCredits(ledger, workspaceIds),
          prices: await readPrices(catalog),
        },
        this.rules,
      );
      return { ...findings, problems: [...findings.problems, ...findBusyEngines(engines)] };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { lost: 0, doubled: 0, difference: 0n, problems: [`the books cannot be read: ${why}`] };
    }
  }
}
