import { Attempt } from '../src/engines/terms/attempt.ts';
import type { Placement, Placer } from '../src/placement/placer.ts';

/** A call of a few words, which no engine has cached. */
export const aPlacement = (fields: Partial<Placement> = {}): Placement => ({
  modelId: 'small-chat',
  keyId: 'key_1',
  prefixHashes: [],
  promptBytes: 36,
  estimatedPromptTokens: 9,
  maxOutputTokens: 100,
  isStream: true,
  ...fields,
});

/** Puts every call on the first engine there is, where it counts as it is expected to. */
export function aFirstPlacer(): Placer {
  const expectTokens: Placer['expectTokens'] = ({
    estimatedPromptTokens: promptTokens,
    maxOutputTokens: outputTokens,
  }) => ({
    promptTokens,
    outputTokens,
  });
  return {
    place([engine], placement) {
      if (!engine) return undefined;
      const chosen = { id: engine.id, weight: 1, loadTokens: 0, cachedTokens: 0 };
      const attempt = new Attempt(engine, { reason: 'only', chosen, candidates: [chosen], promptTokens: 0 });
      const { keyId, isStream, maxOutputTokens: outputTokens } = placement;
      attempt.subscribe(
        engine.load.open({ keyId, hashes: [], promptBytes: 0, uncachedTokens: 0, outputTokens, isStream }),
      );
      return attempt;
    },
    expectTokens,
  };
}
