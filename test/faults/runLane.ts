import { cp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { CannotInject } from './cannotInject.ts';
import type { Cell } from './cell.ts';
import { CellContext } from './cellContext.ts';
import { createRandom } from './load/random.ts';
import type { CellResult } from './report/cellResult.ts';
import { type Reconciliation, reconcile } from './stack/reconcile.ts';
import { type FaultStack, startFaultStack } from './stack/startFaultStack.ts';

/** Longest a cell may take, and what each of its calls adds to that; past it something hangs, and it has failed. */
const CELL_TIMEOUT_MS = 200_000;
const TIMEOUT_PER_CALL_MS = 150;
/** Load a core beyond what the suite itself makes: deadlines pass then without any fault. */
const BUSY = 4;

export interface LaneOptions {
  cells: readonly Cell[];
  seed: number;
  /** Whether the router counts on a Redis Cluster. */
  cluster: boolean;
  calls: number;
  /** Folder of the release before, for cells that begin on it. */
  releaseRoot: string | undefined;
  signal: AbortSignal;
  onResult: (result: CellResult) => void;
  /** A stack whose cells all passed is at its end: what `turnpike reconcile` says of all of it. */
  onReconciled: (stack: string, reconciliation: Reconciliation) => void;
}

/** Runs cells one after the other, on one stack for as long as it can be mended; cells with settings of their own on theirs. */
export class Lane {
  readonly #options: LaneOptions;
  #stack: FaultStack | undefined;
  /** Whether the books of the stack are to be whole: no cell failed on it, or took them away. */
  #isSound = true;
  #doing = 'waiting';
  #context: CellContext | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Returns the current work, in a few words. */
  describe(): string {
    const sent = this.#context ? ` ${this.#context.sent} calls` : '';
    return `${this.#doing}${sent}`;
  }

  async run(): Promise<void> {
    const { cells, signal, onResult } = this.#options;
    try {
      for (const cell of cells) {
        signal.throwIfAborted();
        onResult(await this.#runCell(cell));
      }
      await this.#endStack();
    } finally {
      this.#doing = 'done';
      this.#context = undefined;
      await this.#stopStack();
    }
  }

  async #runCell(cell: Cell): Promise<CellResult> {
    const { seed, calls } = this.#options;
    const startedAt = performance.now();
    const result: CellResult = {
      cell,
      seed,
      calls: 0,
      lost: 0,
      doubled: 0,
      difference: 0n,
      recoveryMs: undefined,
      closedMs: undefined,
      tookMs: 0,
      problems: [],
      notTested: undefined,
      notes: [],
      logs: undefined,
    };
    try {
      const stack = await this.#stackFor(cell);
      this.#doing = cell.name;
      this.#context = await CellContext.open(stack, { random: createRandom(seed), calls });
      this.#context.rules.enginesBreak = cell.group === 'engines';
      await this.#withinTime(cell.run(this.#context));
      const findings = await this.#closeBooks(cell, this.#context);
      Object.assign(result, findings, { recoveryMs: this.#context.recoveryMs, notes: this.#context.notes });
    } catch (error) {
      this.#options.signal.throwIfAborted();
      if (error instanceof CannotInject) result.notTested = error.message;
      else result.problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    const [load = 0] = loadavg();
    if (result.problems.length > 0 && load > BUSY * availableParallelism())
      result.problems.push(`the machine was busy with other things: a load of ${load.toFixed(1)}`);
    result.calls = this.#context?.sent ?? 0;
    if (result.problems.length > 0) this.#isSound = false;
    this.#context = undefined;
    await this.#cleanUp(cell, result);
    result.tookMs = performance.now() - startedAt;
    return result;
  }

  async #stackFor({
    eventLog,
    serviceSettings,
    region = 'us',
    replicas = 1,
    s3 = false,
    startsOnRelease = false,
  }: Cell): Promise<FaultStack> {
    if (serviceSettings) await this.#endStack();
    this.#doing = 'starting a stack';
    const { signal, cluster, releaseRoot } = this.#options;
    this.#stack ??= await startFaultStack({
      eventLog,
      region,
      replicas,
      cluster,
      s3,
      root: startsOnRelease ? releaseRoot : undefined,
      signal,
      ...(serviceSettings && { serviceSettings }),
    });
    return this.#stack;
  }

  /** After media cells the books are asked once more of an emptied Redis, which shows what an owner holds for jobs that are over. */
  async #closeBooks(cell: Cell, context: CellContext): ReturnType<CellContext['closeBooks']> {
    const findings = await context.closeBooks();
    if (cell.group !== 'media' || findings.problems.length > 0) return findings;
    await context.emptyRedis();
    const again = await context.closeBooks();
    return { ...again, closedMs: findings.closedMs, problems: again.problems.map((line) => `Redis emptied: ${line}`) };
  }

  async #withinTime(run: Promise<void>): Promise<void> {
    const { signal, calls } = this.#options;
    const timeoutMs = CELL_TIMEOUT_MS + calls * TIMEOUT_PER_CALL_MS;
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    const timer = setTimeout(() => reject(new Error(`the cell was not done after ${timeoutMs / 1_000} s`)), timeoutMs);
    await Promise.race([run, ended]).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    });
  }

  /** Leaves a stack that the next cell can use, or none. What a failed cell's parts have logged is kept. */
  async #cleanUp(cell: Cell, result: CellResult): Promise<void> {
    const stack = this.#stack;
    if (!stack) return;
    if (result.problems.length > 0) {
      const logs = join(repositoryRoot, '.turnpike', 'faults', cell.name);
      await rm(logs, { recursive: true, force: true });
      await cp(join(stack.stateDir, 'logs'), logs, { recursive: true });
      result.logs = logs;
    }
    this.#doing = 'mending the stack';
    const isUsable = !cell.serviceSettings && result.problems.length === 0;
    if (!isUsable) return this.#endStack();
    await stack.mend().catch(() => this.#stopStack());
  }

  /** Reconciles the books of the whole stack, if they are to be whole, and stops it. */
  async #endStack(): Promise<void> {
    const { cells, signal, onReconciled } = this.#options;
    if (this.#stack && this.#isSound && !signal.aborted) {
      this.#doing = 'reconciling';
      onReconciled(`stack on ${cells[0]?.eventLog}`, await reconcile(this.#stack.stackFile));
    }
    await this.#stopStack();
  }

  async #stopStack(): Promise<void> {
    const stack = this.#stack;
    this.#stack = undefined;
    this.#isSound = true;
    await stack?.stop();
  }
}
