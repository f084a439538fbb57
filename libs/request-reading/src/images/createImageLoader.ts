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
   * Checks the inline images of a call and fetches the others, each address once, and in parallel as far as there are
   * slots. Returns `data:` URLs by the addresses in the client's request.
   * Throws an `ImageError`, also if the call's images exceed the limit together. Throws `key_bound_reached` if a slot
   * did not come in time because of this workspace's fetches, and `no_room_for_body` if it was because of others.
   * Throws either if memory is short. Rethrows the reason of an aborted `signal`.
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
        // Yields before each large image, so that other requests do not wait for several.
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
