import { Pool } from 'undici';
import type { ListedEngine } from './discovery/followAddresses.ts';
import type { Engine, EngineTraffic, UnheardCall } from './engine.ts';
import { BusyRest } from './health/busyRest.ts';
import { CircuitBreaker } from './health/circuitBreaker.ts';
import { FailureStreak } from './health/failureStreak.ts';
import { RecentCalls } from './health/recentCalls.ts';
import type { Trial } from './placement/tryOut.ts';
import type { EngineLoad } from './vllm/engineLoad.ts';
import type { ServedModels } from './vllm/readServedModels.ts';
import { sendTrial } from './vllm/sendTrial.ts';

/** Below the 5 s after which vLLM closes an idle connection, so that a call is not sent into a closing one. */
const IDLE_CONNECTION_MS = 4_000;
const CONNECT_TIMEOUT_MS = 1_000;
const MAX_CONNECTIONS = 4_096;

/**
 * - `starting`: it has not produced a token yet.
 * - `ready`: it takes calls.
 * - `out`: it is left out, for the reason given, until it has produced a token again.
 * - `draining`: it takes nothing new and finishes what it has.
 */
export type EngineState = 'starting' | 'ready' | 'out' | 'draining';

/** Why an engine is left out. */
export type OutReason = 'refused' | 'unreachable' | 'asleep' | 'no_token' | 'failed_calls' | 'fails_more';

export interface FleetEngineOptions {
  nowMs: () => number;
  random: () => number;
  /** Whether an operator holds it back now. */
  isHeldBack: () => boolean;
}

/** An engine of the fleet with all that is known of it. What it takes to be healthy is decided here, and nowhere else. */
export class FleetEngine implements Engine {
  readonly id: string;
  readonly origin: string;
  readonly pool: Pool;
  readonly breaker: CircuitBreaker;
  readonly streak = new FailureStreak();
  readonly recent: RecentCalls;
  readonly rest: BusyRest;
  readonly traffic: EngineTraffic = { openCalls: 0, busySinceMs: 0, heardAtMs: Number.NEGATIVE_INFINITY };
  readonly unheardCalls = new Set<UnheardCall>();
  listed: ListedEngine;
  /** False once it is gone from the list: it finishes what it has, and is forgotten. */
  isListed = true;
  isReachable = false;
  /** Health checks it did not answer, one after the other. */
  missedChecks = 0;
  /** What spoke against it since it last produced a token: above 0 it has to produce one. */
  doubts = 0;
  /** So much speaks against it that it gets no call until it has. */
  awaitsProof = false;
  provedAtMs = Number.NEGATIVE_INFINITY;
  outReason: OutReason | undefined;
  version: string | undefined;
  load: EngineLoad | undefined;
  report: Engine['report'];
  #served: ServedModels = { names: [], windowTokens: undefined };
  #starts = 0;
  #lastState: EngineState = 'starting';
  #stateSince = new Date();
  readonly #isHeldBack: () => boolean;

  constructor(listed: ListedEngine, { nowMs, random, isHeldBack }: FleetEngineOptions) {
    this.id = listed.id;
    this.origin = listed.origin;
    this.listed = listed;
    this.breaker = new CircuitBreaker({ nowMs, random });
    this.recent = new RecentCalls(nowMs);
    this.#isHeldBack = isHeldBack;
    this.rest = new BusyRest(nowMs);
    this.pool = new Pool(listed.origin, {
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS },
    });
  }

  get target(): string {
    return this.listed.entry.id;
  }
  get configuredModel(): string | undefined {
    return this.listed.entry.model;
  }
  get weight(): number {
    return this.listed.entry.weight;
  }
  get servedNames(): readonly string[] {
    return this.#served.names;
  }
  get windowTokens(): number | undefined {
    return this.#served.windowTokens;
  }
  get cacheTokens(): number | undefined {
    return this.load?.cacheTokens;
  }
  get revision(): string {
    return String(this.#starts);
  }

  get isDraining(): boolean {
    return !this.isListed || this.#isHeldBack() || this.listed.isDraining;
  }

  /** Whether it works; a draining one may. */
  get isWell(): boolean {
    return this.isReachable && this.breaker.state === 'closed';
  }

  get isHealthy(): boolean {
    return this.isWell && !this.isDraining && !this.awaitsProof && !this.rest.isResting;
  }

  get state(): EngineState {
    if (this.isDraining) return 'draining';
    if (this.isWell) return 'ready';
    return this.outReason === undefined ? 'starting' : 'out';
  }

  /** Since when `state` has been what it was when it was noted last. */
  get since(): Date {
    return this.#stateSince;
  }

  /** The state where it changed since this was asked last. */
  noteState(): EngineState | undefined {
    const { state } = this;
    if (state === this.#lastState) return undefined;
    this.#lastState = state;
    this.#stateSince = new Date();
    return state;
  }

  /** Engines of one pool stand in for each other. */
  get poolName(): string | undefined {
    return this.configuredModel ?? this.servedNames[0];
  }

  takeServed(served: ServedModels): void {
    this.#served = served;
  }

  takeLoad(load: EngineLoad, atMs: number): void {
    // A count that fell is one that began anew, and the caches with it.
    if ((load.prefixQueries ?? 0) < (this.load?.prefixQueries ?? 0)) this.restarted();
    this.load = load;
    const { running, waiting } = load;
    this.report = running === undefined || waiting === undefined ? undefined : { atMs, running, waiting };
  }

  tryOut(trial: Trial): void {
    void sendTrial(this.pool, this.servedNames[0] ?? '', trial);
  }

  /** Whatever it had cached is gone. */
  restarted(): void {
    this.#starts += 1;
  }
}
