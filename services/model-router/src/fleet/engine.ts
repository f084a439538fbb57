import type { Pool } from 'undici';
import type { PricedModel } from '../catalog/catalog.ts';
import type { PlaceableEngine } from './placement/placer.ts';

/** What is under way on an engine. Kept by whoever exchanges bytes with it. */
export interface EngineTraffic {
  openCalls: number;
  /** When the first of them found it idle, by `performance.now()`. */
  busySinceMs: number;
  /** When the engine last sent anything of a call's answer, by `performance.now()`. */
  heardAtMs: number;
}

/** A call that has heard nothing from its engine yet. */
export interface UnheardCall {
  readonly isStream: boolean;
  /** Called, perhaps again and again, when the engine turns out not to answer: the call goes elsewhere if it may. */
  leave(): void;
}

/** One serving engine as calls see it: where it is, what it serves, and whether it takes calls. */
export interface Engine extends PlaceableEngine {
  /** Its own, also among the engines of one routing target; the same on every router. */
  readonly id: string;
  /** The routing target it belongs to: what a usage row names as `model`. It says nothing of addresses. */
  readonly target: string;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly pool: Pool;
  /** The canonical model it is listed for; undefined where what it serves decides. */
  readonly configuredModel: string | undefined;
  /** Names the engine answers to, first one first, as it last said. */
  readonly servedNames: readonly string[];
  /** Tokens that prompt and answer have together, as it last said. */
  readonly windowTokens: number | undefined;
  /** Whether it takes new calls. */
  readonly isHealthy: boolean;
  readonly traffic: EngineTraffic;
  readonly unheardCalls: Set<UnheardCall>;
}

/** Which name an engine serves a model under; undefined if it does not. */
export function servedNameOf(
  engine: Pick<Engine, 'servedNames' | 'configuredModel'>,
  model: PricedModel,
): string | undefined {
  const names = [model.id, model.huggingFaceId, ...model.aliases];
  return (
    engine.servedNames.find((name) => names.includes(name)) ??
    (engine.configuredModel === model.id ? engine.servedNames[0] : undefined)
  );
}
