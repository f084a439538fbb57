import type { ListedEngine } from '../src/engines/discovery/followAddresses.ts';
import { Engine, type EngineOptions } from '../src/engines/engine.ts';
import type { Trial } from '../src/engines/terms/dialect.ts';
import { vllm } from '../src/engines/vllm/vllm.ts';

const ANY_ROOM = { calls: 1_000, tokens: 1_000_000 };

export interface EngineFields extends Partial<EngineOptions> {
  origin?: string;
  weight?: number;
  /** Whether it is in. */
  isIn?: boolean;
  /** Tokens of its window. */
  windowTokens?: number;
  /** Takes trials in place of the engine. */
  tryOut?: (trial: Trial) => void;
}

/** Arguments of an engine of the small model with room for any call. */
export function toEngineArguments(id: string, fields: EngineFields = {}): [ListedEngine, EngineOptions] {
  const { origin = 'http://127.0.0.1:9', weight = 1, ...options } = fields;
  const entry = { id, url: origin, discover: undefined, model: 'small-chat', weight, draining: false };
  return [
    { id, origin, entry, isDraining: false },
    {
      nowMs: () => performance.now(),
      random: () => 0.5,
      cordoned: new Set(),
      room: ANY_ROOM,
      dialect: vllm,
      ...options,
    },
  ];
}

/** An engine of the small model, in and with room for whatever comes, at an address where nobody need listen. */
export function anEngine(id: string, fields: EngineFields = {}): Engine {
  const { isIn = true, windowTokens, tryOut, ...others } = fields;
  const engine = new Engine(...toEngineArguments(id, others));
  engine.served = { names: ['engine-name'], windowTokens };
  if (tryOut) engine.tryOut = tryOut;
  if (!isIn) return engine;
  engine.health.checked();
  engine.health.beginProbe({ isStalled: false });
  engine.health.endProbe('token');
  return engine;
}
