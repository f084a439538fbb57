import { ApiError } from '@turnpike/public-api/apiError';
import type { BodyFault } from '../faults/bodyFault.ts';
import type { FairSlot, FairSlots, SlotOwner } from '../shares/fairSlots.ts';
import { ImageError } from './imageError.ts';

export interface FetchTimes {
  /** For all images of a call together, from the first that is fetched: names, connections, redirects and bytes. */
  timeoutMs: number;
  /** Longest wait of a call none of whose images may be fetched yet. */
  waitMs: number;
}

/** The fetches of one call. */
export interface FetchTurns {
  /**
   * Runs a fetch when a slot is free. Repeats it in its next turn if the fetch loses the slot, because its image is not
   * to blame.
   */
  run<Result>(fetch: (slot: Pick<FairSlot, 'signal' | 'heard'>) => Promise<Result>): Promise<Result>;
  /** Ends what still runs or waits. */
  close(): void;
}

/** Opens the turns of a call; `leaving` ends them with its reason. */
export function openTurns(
  slots: FairSlots,
  { owner, times, leaving }: { owner: SlotOwner; times: FetchTimes; leaving: AbortSignal },
): FetchTurns {
  const ending = new AbortController();
  const signal = AbortSignal.any([leaving, ending.signal]);
  let waiting = 0;
  let hasBegun = false;
  let timer = setTimeout(giveUp, times.waitMs);

  /** Images that got no turn say nothing about the client's hosts; only where all had theirs these were too slow. */
  function giveUp(): void {
    const turnMissing = slots.has(owner.workspaceId) ? slots.tooMany() : noRoom();
    ending.abort(waiting > 0 ? turnMissing : new ImageError('too_slow'));
  }

  async function takeSlot(): Promise<FairSlot> {
    waiting += 1;
    try {
      return await slots.take(owner, signal);
    } finally {
      waiting -= 1;
    }
  }

  return {
    async run(fetch) {
      for (;;) {
        const slot = await takeSlot();
        if (!hasBegun) {
          hasBegun = true;
          clearTimeout(timer);
          timer = setTimeout(giveUp, times.timeoutMs);
        }
        try {
          return await fetch({ signal: AbortSignal.any([signal, slot.signal]), heard: slot.heard });
        } catch (error) {
          signal.throwIfAborted();
          if (!slot.signal.aborted) throw error;
        } finally {
          slot.giveBack();
        }
      }
    },
    close() {
      clearTimeout(timer);
      ending.abort(new ImageError('connection_failed'));
    },
  };
}

const noRoom = (): ApiError<BodyFault> => new ApiError({ kind: 'no_room_for_body' });
