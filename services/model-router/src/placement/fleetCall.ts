import type { PricedModel } from '../catalog/catalog.ts';
import { type Engine, servedNameOf } from '../engines/engine.ts';
import type { CallNews, EngineRegistry } from '../engines/engineRegistry.ts';
import { type AttemptResult, type EngineErrorKind, isUntaken } from '../engines/terms/attemptResult.ts';
import type { RetryBudget } from '../health/retryBudget.ts';
import type { Leavable, Placement, QueueableCall } from './queueableCall.ts';

/** Refused connections cost nothing, but a call is not sent around for ever. */
const MAX_REFUSALS = 4;

/**
 * Decides whether a call is tried again, and where. One retry, on another engine and out of the fleet's budget. Two things are
 * free: an engine that refused the connection took nothing; and once, a connection that broke before any answer was most
 * likely closing already, so the call goes even to the same engine where there is no other.
 */
export class NextAttempt {
  readonly #retries: RetryBudget;
  readonly #tried = new Set<Engine>();
  #resendTo: Engine | undefined;
  #refusals = 0;
  #hasResent = false;
  #hasRetried = false;

  constructor(retries: RetryBudget) {
    this.#retries = retries;
    retries.callBegan();
  }

  /** The engines that may have the next attempt. */
  chooseFrom(able: readonly Engine[]): readonly Engine[] {
    const untried = able.filter((engine) => !this.#tried.has(engine));
    return untried.length > 0 ? untried : able.filter((engine) => engine === this.#resendTo);
  }

  /** Whether the call may leave `engine`, which does not answer, for another of those that are able; its retry is then paid for. */
  mayLeave(engine: Engine, able: readonly Engine[]): boolean {
    return able.some((other) => other !== engine && !this.#tried.has(other)) && this.#takeRetry();
  }

  /** Whether another attempt may follow one on `engine` that failed; where it has to be paid for, it is. */
  mayFollow(engine: Engine, broken: EngineErrorKind | undefined): boolean {
    this.#tried.add(engine);
    this.#resendTo = undefined;
    if (broken === 'left_out') return true;
    if (isUntaken(broken)) {
      this.#refusals += 1;
      return this.#refusals < MAX_REFUSALS;
    }
    if (broken === 'unanswered' && !this.#hasResent) {
      this.#hasResent = true;
      this.#resendTo = engine;
      return true;
    }
    return this.#takeRetry();
  }

  #takeRetry(): boolean {
    if (this.#hasRetried || !this.#retries.take()) return false;
    this.#hasRetried = true;
    return true;
  }
}

export interface FleetCallOptions {
  engines: Pick<EngineRegistry, 'findEngines' | 'report'>;
  next: NextAttempt;
  model: PricedModel;
  /** Who pays for it: what one workspace's calls do is no proof against an engine. */
  workspaceId: string;
  placement: Placement;
  bytes: number;
  res: Leavable;
}

/** A call as it goes from engine to engine of the region. */
export class FleetCall implements QueueableCall {
  readonly placement: Placement;
  readonly bytes: number;
  readonly res: Leavable;
  readonly #engines: FleetCallOptions['engines'];
  readonly #next: NextAttempt;
  readonly #model: PricedModel;
  readonly #workspaceId: string;

  constructor({ engines, next, model, workspaceId, placement, bytes, res }: FleetCallOptions) {
    this.placement = placement;
    this.bytes = bytes;
    this.res = res;
    this.#engines = engines;
    this.#next = next;
    this.#model = model;
    this.#workspaceId = workspaceId;
  }

  findEngines(): readonly Engine[] {
    return this.#next.chooseFrom(this.#findAble());
  }

  mayLeave(engine: Engine): boolean {
    return this.#next.mayLeave(engine, this.#findAble());
  }

  report(engine: Engine, result: AttemptResult): void {
    const news = toNews(result, this.#workspaceId);
    if (news) this.#engines.report(engine, news);
  }

  #findAble(): readonly Engine[] {
    return this.#engines
      .findEngines(this.#model)
      .filter((engine) => engine.isHealthy && servedNameOf(engine, this.#model) !== undefined);
  }
}

/** Judges an engine by the result of an attempt. Returns undefined where the engine may have no part in it, as in a client's mistake. */
function toNews(result: AttemptResult, workspaceId: string): CallNews | undefined {
  if (result.kind === 'dropped') return undefined;
  if (result.kind === 'answered') return { kind: 'completed', workspaceId };
  const { fault, broken, isFinal } = result;
  switch (broken) {
    // Health knows: it is why the call left.
    case 'left_out':
      return undefined;
    case 'refused':
      return { kind: 'refused' };
    case 'unreached':
      return { kind: 'unreached' };
    case 'timeout':
      return { kind: 'silent' };
    case undefined:
      return fault.kind === 'engine_failed' && !isFinal ? { kind: 'failed', workspaceId } : undefined;
    default:
      return { kind: 'failed', workspaceId };
  }
}
