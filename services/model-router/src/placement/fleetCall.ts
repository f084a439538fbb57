import type { PricedModel } from '../catalog/catalog.ts';
import { type Engine, servedNameOf } from '../engines/engine.ts';
import type { CallNews, EngineRegistry } from '../engines/engineRegistry.ts';
import type { AttemptResult } from '../engines/terms/attemptResult.ts';
import type { NextAttempt } from './nextAttempt.ts';
import type { Leavable, Placement, QueueableCall } from './queueableCall.ts';

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
