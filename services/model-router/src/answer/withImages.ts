import type { ServerResponse } from 'node:http';
import { ApiError } from '@turnpike/api-errors/apiError';
import type { Logger } from '@turnpike/logging/createLogger';
import type { ImageFault } from '../api/chatFault.ts';
import type { OpenCall } from '../money/call/callBook.ts';
import type { ImageLoader } from '../request/images/createImageLoader.ts';
import { ImageError } from '../request/images/imageError.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';
import type { TakenBytes } from '../request/shares/bodyMemory.ts';

/** An admitted call whose images are not at hand yet. */
export interface CallWithImages {
  request: InferenceRequest;
  workspaceId: string;
  keyId: string;
  call: Pick<OpenCall, 'end'>;
  res: Pick<ServerResponse, 'destroyed' | 'once' | 'off'>;
  room: Pick<TakenBytes, 'take' | 'couldTake' | 'refusal'>;
  log: Logger;
}

/**
 * The request with its images at hand, ready for an engine (decisions, Images in chat). Undefined when the client left
 * meanwhile. Throws `image_unusable`, one fault whatever the reason, `key_bound_reached` or `no_room_for_body`; the call has ended
 * then, as a failure that costs nothing.
 */
export async function withImages(
  images: ImageLoader,
  { request, workspaceId, keyId, call, res, room, log }: CallWithImages,
): Promise<InferenceRequest | undefined> {
  const { urls } = request.images;
  if (urls.length === 0) return request;
  const leaving = new AbortController();
  const leave = (): void => leaving.abort(new Error('client left'));
  if (res.destroyed) leave();
  res.once('close', leave);
  try {
    const fetched = await images.load(urls, { workspaceId, keyId, room, signal: leaving.signal });
    return { ...request, images: { ...request.images, fetched } };
  } catch (error) {
    if (leaving.signal.aborted) {
      await call.end({ status: 'failure', reason: 'client_left_before_engine' });
      return undefined;
    }
    if (error instanceof ImageError) {
      log.info({ reason: error.reason }, 'image cannot be used');
      await call.end({ status: 'failure', reason: 'image_unusable' });
      throw new ApiError<ImageFault>({ kind: 'image_unusable' });
    }
    if (error instanceof ApiError) await call.end({ status: 'failure', reason: error.fault.kind });
    throw error;
  } finally {
    res.off('close', leave);
  }
}
