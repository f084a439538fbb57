import { hash } from 'node:crypto';
import type { Generation } from '../engine/generation.ts';
import type { AnswerIdentity } from '../wire/streamChunks.ts';
import { VERSION } from '../wire/version.ts';
import type { EngineContext } from './engineContext.ts';

/** Who answers a request. */
export function identityOf({ entry }: Generation, { engine, clock }: EngineContext): AnswerIdentity {
  const isTold = engine.knobs.fingerprint === 'on';
  return {
    id: entry.responseId,
    createdAtSeconds: Math.floor(clock.unixMs() / 1_000),
    model: entry.model,
    systemFingerprint: isTold ? `vllm-${VERSION}-${hash('sha1', engine.config.root).slice(0, 8)}` : null,
  };
}
