import type { Decision, PlaceableEngine, Placement, Placer } from '../src/fleet/placement/placer.ts';

/** A call of a few words, which no engine has cached. */
export const aPlacement = (fields: Partial<Placement> = {}): Placement => ({
  modelId: 'small-chat',
  prefixHashes: [],
  promptBytes: 36,
  estimatedPromptTokens: 9,
  maxOutputTokens: 100,
  isStream: true,
  ...fields,
});

const toOnly = ({ id }: PlaceableEngine): Decision => {
  const chosen = { id, weight: 1, loadTokens: 0, cachedTokens: 0 };
  return { reason: 'only', chosen, candidates: [chosen], promptTokens: 0 };
};

/** Puts every call on the first engine there is. */
export const aFirstPlacer = (): Placer => ({
  place([engine]) {
    return engine && { engine, decision: toOnly(engine), uncachedTokens: 0, onFirstEvent() {}, end() {} };
  },
  expectTokens: ({ estimatedPromptTokens: promptTokens, maxOutputTokens: outputTokens }) => ({
    promptTokens,
    outputTokens,
  }),
  tokensInFlightOn: () => 0,
  isSlow: () => false,
});
