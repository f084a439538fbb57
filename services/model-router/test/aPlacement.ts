import type { Engine } from '../src/engines/engine.ts';
import type { Placement } from '../src/placement/placer.ts';
import { Attempt, Placer } from '../src/placement/placer.ts';

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
class FirstPlacer extends Placer {
  override place([engine]: readonly Engine[], placement: Placement): Attempt | undefined {
    if (!engine) return undefined;
    const chosen = { id: engine.id, weight: 1, loadTokens: 0, cachedTokens: 0 };
    const { keyId, isStream, maxOutputTokens } = placement;
    const tokens = { uncachedTokens: 0, outputTokens: maxOutputTokens, maxOutputTokens };
    const prompt = { keyId, hashes: [], promptBytes: 0, ...tokens, isStream };
    const decision = { engine, reason: 'only' as const, chosen, candidates: [chosen], promptTokens: 0 };
    return new Attempt(decision, placement, { habits: { learn() {} }, loaded: engine.load.open(prompt) });
  }

  override costOf({ estimatedPromptTokens, maxOutputTokens }: Placement): number {
    return Math.max(1, estimatedPromptTokens + maxOutputTokens);
  }
}

export const aFirstPlacer = (): Placer => new FirstPlacer();
