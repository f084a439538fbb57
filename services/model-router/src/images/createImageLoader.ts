import { ApiError } from '@turnpike/api-errors/apiError';
import type { BodyFault } from '../wire/bodyFault.ts';
import type { TakenBytes } from '../wire/bodyMemory.ts';
import { checkImage } from './checkImage.ts';
import { decodeInlineImage, isInline } from './decodeInlineImage.ts';
import { type FetchImageOptions, fetchImage } from './fetchImage.ts';
import { createFetchSlots, type FetchLimits } from './fetchSlots.ts';
import { ImageError } from './imageError.ts';
import type { ResolveHost } from './resolveHost.ts';

export interface ImageLoaderOptions {
  /** Hosts and ports, `host:port`, that need be neither public nor the scheme's own. */
  privateHosts: ReadonlySet<string>;
  resolve: ResolveHost;
  /** For all images of a call together: names, connections, redirects and bytes. */
  timeoutMs: number;
  limits: FetchLimits;
}

export interface ImageLoader {
  /**
   * Checks the inline images of a call and fetches the others, all at once and each address once. Gives `data:` URLs by the
   * addresses as the client wrote them. Throws an `ImageError`, also where the call's images together are more than there
   * is room for at all; `no_room_for_body` when too many are on their way or in memory just now; or what `signal` is aborted
   * with.
   */
  load(
    urls: readonly string[],
    options: { workspaceId: string; room: Pick<TakenBytes, 'take' | 'couldTake' | 'refusal'>; signal: AbortSignal },
  ): Promise<ReadonlyMap<string, Buffer>>;
}

export function createImageLoader({ privateHosts, resolve, timeoutMs, limits }: ImageLoaderOptions): ImageLoader {
  const slots = createFetchSlots(limits);
  return {
    async load(urls, { workspaceId, room, signal }) {
      const distinct = [...new Set(urls)];
      for (const url of distinct) if (isInline(url)) checkImage(decodeInlineImage(url));
      const remote = distinct.filter((url) => !isInline(url));
      if (remote.length === 0) return new Map();

      const giveBack = slots.take(workspaceId, remote.length);
      if (!giveBack) throw noRoom();
      const takeRoom = (bytes: number): void => {
        if (!room.take(bytes)) throw room.couldTake(bytes) ? room.refusal() : new ImageError('too_large');
      };
      // The first failure ends the others: the call is refused whatever they would come to.
      const ending = new AbortController();
      const timer = setTimeout(() => ending.abort(new ImageError('too_slow')), timeoutMs);
      const options = { privateHosts, resolve, takeRoom, signal: AbortSignal.any([signal, ending.signal]) };
      try {
        options.signal.throwIfAborted();
        const fetched = remote.map(async (url) => [url, await fetchDataUrl(url, options)] as const);
        return new Map(await Promise.all(fetched));
      } finally {
        clearTimeout(timer);
        ending.abort(new ImageError('connection_failed'));
        giveBack();
      }
    },
  };
}

const noRoom = (): ApiError<BodyFault> => new ApiError({ kind: 'no_room_for_body' });

async function fetchDataUrl(url: string, options: FetchImageOptions): Promise<Buffer> {
  const bytes = await fetchImage(url, options);
  return Buffer.from(`data:${checkImage(bytes)};base64,${bytes.toString('base64')}`, 'latin1');
}
