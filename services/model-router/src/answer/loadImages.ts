import type { ServerResponse } from 'node:http';
import type { ImageLoader } from '../request/images/createImageLoader.ts';
import { ImageError } from '../request/images/imageError.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';
import type { TakenBytes } from '../request/shares/bodyMemory.ts';
import type { Call } from './call.ts';
import type { Outcome } from './outcome.ts';

/** The request with its images at hand, ready for an engine; or how the call came out, as they cannot be had. */
export type LoadedImages =
  | { kind: 'loaded'; request: InferenceRequest }
  | Extract<Outcome, { kind: 'left_before_engine' | 'refused' }>;

/**
 * Fetches the images of an admitted call (decisions, Images in chat). Whatever is wrong with one, the fault is the same. Throws
 * `key_bound_reached` or `no_room_for_body`.
 */
export async function loadImages(
  images: ImageLoader,
  { request, workspaceId, keyId, log }: Pick<Call, 'request' | 'workspaceId' | 'keyId' | 'log'>,
  { room, res }: { room: TakenBytes; res: Pick<ServerResponse, 'destroyed' | 'once' | 'off'> },
): Promise<LoadedImages> {
  const { urls } = request.images;
  if (urls.length === 0) return { kind: 'loaded', request };
  const leaving = new AbortController();
  const leave = (): void => leaving.abort(new Error('client left'));
  if (res.destroyed) leave();
  res.once('close', leave);
  try {
    const fetched = await images.load(urls, { workspaceId, keyId, room, signal: leaving.signal });
    return { kind: 'loaded', request: { ...request, images: { ...request.images, fetched } } };
  } catch (error) {
    if (leaving.signal.aborted) return { kind: 'left_before_engine' };
    if (!(error instanceof ImageError)) throw error;
    log.info({ reason: error.reason }, 'image cannot be used');
    return { kind: 'refused', fault: { kind: 'image_unusable' } };
  } finally {
    res.off('close', leave);
  }
}
