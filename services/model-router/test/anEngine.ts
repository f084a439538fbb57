import { Engine, type EngineOptions } from '../src/engines/engine.ts';
import { vllm } from '../src/engines/vllm/vllm.ts';

const ANY_ROOM = { calls: 1_000, tokens: 1_000_000 };

export interface EngineFields extends Partial<EngineOptions> {
  origin?: string;
  /** Whether it is in. */
  isIn?: boolean;
}

/** An engine of the small model, in and with room for whatever comes, at an address where nobody need listen. */
export function anEngine(
  id: string,
  { origin = 'http://127.0.0.1:9', isIn = true, ...options }: EngineFields = {},
): Engine {
  const entry = { id, url: origin, discover: undefined, model: 'small-chat', weight: 1, draining: false };
  const engine = new Engine(
    { id, origin, entry, isDraining: false },
    {
      nowMs: () => performance.now(),
      random: () => 0.5,
      isCordoned: () => false,
      room: ANY_ROOM,
      dialect: vllm,
      ...options,
    },
  );
  engine.served = { names: ['engine-name'], windowTokens: undefined };
  if (!isIn) return engine;
  engine.health.checked();
  engine.health.beginProbe({ isStalled: false });
  engine.health.endProbe('token');
  return engine;
}
