import { Pool } from 'undici';
import type { Engine } from '../src/engines/engineRegistry.ts';
import { PrefixIndex } from '../src/engines/prefixIndex.ts';

/** A healthy engine of the small model, at an address where nobody need listen. */
export function anEngine(id: string, fields: Partial<Engine> = {}): Engine {
  return {
    id,
    origin: 'http://127.0.0.1:9',
    pool: new Pool('http://127.0.0.1:9'),
    configuredModel: 'small-chat',
    servedNames: ['engine-name'],
    isHealthy: true,
    missedProbes: 0,
    brokenCalls: 0,
    tokensInFlight: 0,
    prefixes: new PrefixIndex(),
    ...fields,
  };
}
