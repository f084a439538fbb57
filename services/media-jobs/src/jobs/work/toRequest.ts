import { buffer } from 'node:stream/consumers';
import type {
  ImageRequest,
  MediaRequest,
  SpeechRequest,
  TranscriptRequest,
  VideoRequest,
} from '../../terms/mediaRequest.ts';
import type { JobRow } from '../table/jobRow.ts';
import type { House } from './house.ts';

/** A request without its file, as it can be had again from a row. */
export type KeptRequest = ImageRequest | VideoRequest | SpeechRequest | Omit<TranscriptRequest, 'file'>;

/** The request that a job was made from. Rejects with an `ObjectStoreError` where the store does not have its texts now. */
export async function toRequest(row: JobRow, { texts, store }: Pick<House, 'texts' | 'store'>): Promise<KeptRequest> {
  const { params, inputs } = row;
  const { prompt = '', input = '', instructions } = await texts.open(row);
  switch (params.operation) {
    case 'images.generations':
      return { ...params, prompt };
    case 'videos': {
      const [reference] = inputs;
      if (!reference) return { ...params, prompt };
      const { content } = await store.get(reference.key);
      return { ...params, prompt, inputReference: { bytes: await buffer(content), type: reference.type } };
    }
    case 'audio.speech':
      return { ...params, input, ...(instructions !== undefined && { instructions }) };
    default:
      return { ...params, ...(prompt && { prompt }) };
  }
}

/** What of a request is a text of the client, and what may stand in the row as it is. Files are neither. */
export function fromRequest(request: MediaRequest): {
  params: JobRow['params'];
  texts: { prompt?: string; input?: string; instructions?: string };
} {
  switch (request.operation) {
    case 'images.generations': {
      const { prompt, ...params } = request;
      return { params, texts: { prompt } };
    }
    case 'videos': {
      const { prompt, inputReference: _file, ...params } = request;
      return { params, texts: { prompt } };
    }
    case 'audio.speech': {
      const { input, instructions, ...params } = request;
      return { params, texts: { input, ...(instructions !== undefined && { instructions }) } };
    }
    default: {
      const { file: _file, prompt, ...params } = request;
      return { params, texts: prompt === undefined ? {} : { prompt } };
    }
  }
}
