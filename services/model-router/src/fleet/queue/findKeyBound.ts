import type { EngineLoad } from '../placement/engineLoad.ts';
import type { EngineRoom, RoomMeasure } from './engineRoom.ts';

/** An engine with a limit to what may be under way there. */
export interface RoomyEngine {
  readonly load: Pick<EngineLoad, 'ofKey'>;
  readonly room: Pick<EngineRoom, 'free'>;
}

/**
 * Which of the two a key has as much of on these engines as it may while others might want some; undefined if it may have
 * more. A dynamic threshold (Choudhury and Hahne): what it has, beside what is free. With a share of three quarters it may
 * have three times what is free, so alone it gets three quarters of all there is, two get three sevenths each, and however
 * many there are, something is free for one that has nothing yet. Who has fewer calls than that, three, is not bound: of
 * less room than four calls no quarter can be kept.
 */
export function findKeyBound(engines: readonly RoomyEngine[], keyId: string, share: number): RoomMeasure | undefined {
  let [ownCalls, ownTokens, freeCalls, freeTokens] = [0, 0, 0, 0];
  for (const { load, room } of engines) {
    const own = load.ofKey(keyId);
    ownCalls += own?.calls ?? 0;
    ownTokens += own?.tokens ?? 0;
    freeCalls += room.free('calls');
    freeTokens += room.free('tokens');
  }
  const timesFree = share / (1 - share);
  if (ownCalls < timesFree) return undefined;
  if (ownCalls >= timesFree * freeCalls) return 'calls';
  return ownTokens >= timesFree * freeTokens ? 'tokens' : undefined;
}
