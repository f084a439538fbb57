import { readFile } from 'node:fs/promises';
import { videoRequestSchema } from '@turnpike/public-api/videoRequest';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import { checkImage } from '@turnpike/request-reading/images/checkImage';
import type { ImageLoader } from '@turnpike/request-reading/images/createImageLoader';
import { decodeInlineImage, isInline } from '@turnpike/request-reading/images/decodeInlineImage';
import { ImageError } from '@turnpike/request-reading/images/imageError';
import type { TakenBytes } from '@turnpike/request-reading/shares/bodyMemory';
import type { SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import type { Upload, VideoRequest } from '../../terms/mediaRequest.ts';
import { digestOf, type MediaDraft } from '../mediaDraft.ts';
import { capabilitiesFor, oneOf, sizeOf } from '../models/modelRules.ts';

const OPERATION = 'videos';
const PARAM = 'input_reference';
const readFields = createFieldReader(videoRequestSchema);

export interface VideoDraft extends MediaDraft<VideoRequest> {
  /**
   * Returns the request with the image at its address, fetched after the call is admitted, by the rules of images in
   * chat. Throws `invalid_request`, or the reason of `signal`.
   */
  fetchReference(request: VideoRequest, caller: SlotOwner, signal: AbortSignal): Promise<VideoRequest>;
}

type Reference = VideoRequest['inputReference'];
/** Memory of the call that the image is kept in. */
type ImageMemory = Pick<TakenBytes, 'take' | 'couldTake' | 'refusal'>;

/** Checks the fields of a body, and the image that came with it. Throws `invalid_request`. */
export async function draftVideoRequest(
  value: unknown,
  { file, images, room }: { file: Upload | undefined; images: ImageLoader; room: ImageMemory },
): Promise<Omit<VideoDraft, 'refused' | 'discard'>> {
  const { input_reference: given, ...fields } = readFields(value);
  if (file && given !== undefined) throw invalidRequest(PARAM, `${PARAM} is given more than once`);
  const address = typeof given === 'string' ? given : given?.image_url;
  const isRemote = address !== undefined && !isInline(address);
  const inline = await readInline({ file, address: isRemote ? undefined : address, room });
  return {
    model: fields.model,
    digest: digestOf(OPERATION, { ...fields, address }, ...(file ? [file.sha256] : [])),
    forModel(model) {
      const can = capabilitiesFor(OPERATION, model);
      if ((isRemote || inline) && !model.inputModalities.includes('image'))
        throw invalidRequest(PARAM, `${PARAM} is not taken by this model`);
      return {
        operation: OPERATION,
        model: model.id,
        prompt: fields.prompt,
        seconds: oneOf('seconds', fields.seconds, { allowed: can.seconds }),
        size: sizeOf(fields.size, can),
        ...(inline && { inputReference: inline }),
      };
    },
    async fetchReference(request, caller, signal) {
      if (!isRemote) return request;
      const loaded = await images.load([address], { ...caller, room, signal }).catch(refuseImage);
      const dataUrl = loaded.get(address);
      if (!dataUrl) throw new Error('the loader gave no image');
      return { ...request, inputReference: toReference(decodeInlineImage(dataUrl.toString('latin1'))) };
    },
  };
}

/** The image that came within the request. */
async function readInline({
  file,
  address,
  room,
}: {
  file: Upload | undefined;
  address: string | undefined;
  room: ImageMemory;
}): Promise<Reference> {
  try {
    if (address !== undefined) return toReference(decodeInlineImage(address));
    if (!file) return undefined;
    if (!room.take(file.bytes)) throw room.refusal();
    return toReference(await readFile(file.path));
  } catch (error) {
    return refuseImage(error);
  }
}

const toReference = (bytes: Buffer): NonNullable<Reference> => ({ bytes, type: checkImage(bytes) });

function refuseImage(error: unknown): never {
  if (!(error instanceof ImageError)) throw error;
  throw invalidRequest(
    PARAM,
    `${PARAM} cannot be fetched or decoded: send a file, a public http(s) URL or a base64 data URL of a PNG, JPEG, WebP or GIF`,
  );
}
