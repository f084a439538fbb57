import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TakenBytes } from '../shares/bodyMemory.ts';
import { createFairSlots, type SlotLimits, type SlotOwner } from '../shares/fairSlots.ts';
import { checkImage } from './checkImage.ts';
import { isInline, lookAtInlineImage } from './decodeInlineImage.ts';
import { type FetchImageOptions, fetchImage } from './fetchImage.ts';
import { type FetchTimes, openTurns } from './fetchTurns.ts';
import { ImageError } from './imageError.ts';
import type { ResolveHost } from './resolveHost.ts';

/** A longer inline image is checked in a turn of its own. */
const MAX_LENGTH_AT_ONCE = 262_144;

export interface ImageLoaderOptions {
  /** Hosts and ports, `host:port`, that need be neither public nor the scheme's own. */
  privateHosts: ReadonlySet<string>;
  resolve: ResolveHost;
  times: FetchTimes;
  limits: SlotLimits;
}

export interface ImageLoader {
  /**
   * Checks the inline images of a call and fetches the others, each address once, and all at once where there are slots for
   * them. Gives `data:` URLs by the addresses as the client wrote them. Throws an `ImageError`, also where the call's images
   * together are more than there is room for at all; `key_bound_reached` when their turn did not come because the workspace
   * has too many on their way, `no_room_for_body` when it did not come because all others have; either when memory is short;
   * or what `signal` is aborted with.
   */
  load(
    urls: readonly string[],
    options: SlotOwner & { room: Pick<TakenBytes, 'take' | 'couldTake' | 'refusal'>; signal: AbortSignal },
  ): Promise<ReadonlyMap<string, Buffer>>;
}

export function createImageLoader({ privateHosts, resolve, times, limits }: ImageLoaderOptions): ImageLoader {
  const slots = createFairSlots({ bound: 'image_fetches', limits, givesWay: true });
  return {
    async load(urls, { workspaceId, keyId, room, signal: leaving }) {
      const distinct = [...new Set(urls)];
      for (const url of distinct) {
        if (!isInline(url)) continue;
        // What else goes on would wait for several.
        if (url.length > MAX_LENGTH_AT_ONCE) await nextTurn();
        checkImage(lookAtInlineImage(url));
      }
      const remote = distinct.filter((url) => !isInline(url));
      if (remote.length === 0) return new Map();

      const turns = openTurns(slots, { owner: { workspaceId, keyId }, times, leaving });
      const fetchInTurn = async (url: string): Promise<[url: string, dataUrl: Buffer]> => {
        const openAttempt = createRoomTaker(room);
        const dataUrl = await turns.run(({ signal, heard }) => {
          const take = openAttempt();
          const takeRoom = (bytes: number): void => {
            heard();
            take(bytes);
          };
          return fetchDataUrl(url, { privateHosts, resolve, takeRoom, signal });
        });
        return [url, dataUrl];
      };
      try {
        // The first failure ends the others: the call is refused whatever they would come to.
        return new Map(await Promise.all(remote.map(fetchInTurn)));
      } finally {
        turns.close();
      }
    },
  };
}

/** Takes room for one image: what an attempt took is there for the next one, as its bytes are gone. */
function createRoomTaker(room: Pick<TakenBytes, 'take' | 'couldTake' | 'refusal'>): () => (bytes: number) => void {
  let taken = 0;
  return () => {
    let size = 0;
    return (bytes) => {
      size += bytes;
      const more = Math.max(0, size - taken);
      if (!room.take(more)) throw room.couldTake(more) ? room.refusal() : new ImageError('too_large');
      taken += more;
    };
  };
}

async function fetchDataUrl(url: string, options: FetchImageOptions): Promise<Buffer> {
  const bytes = await fetchImage(url, options);
  return Buffer.from(`data:${checkImage(bytes)};base64,${bytes.toString('base64')}`, 'latin1');
}
