import { Pool } from 'undici';
import type { Engine } from '../src/fleet/engine.ts';

/** A healthy engine of the small model, at an address where nobody need listen. */
export function anEngine(id: string, fields: Partial<Engine> = {}): Engine {
  return {
    id,
    target: id,
    origin: 'http://127.0.0.1:9',
    pool: new Pool('http://127.0.0.1:9'),
    configuredModel: 'small-chat',
    servedNames: ['engine-name'],
    windowTokens: undefined,
    isHealthy: true,
    traffic: { openCalls: 0, busySinceMs: 0, heardAtMs: 0 },
    unheardCalls: new Set(),
    tryOut() {},
    ...fields,
  };
}
