import { buffer } from 'node:stream/consumers';
import { BackendFault } from '../../terms/backend.ts';
import type {
  ImageRequest,
  MediaRequest,
  SpeechRequest,
  TranscriptRequest,
  VideoRequest,
} from '../../terms/mediaRequest.ts';
import type { JobDependencies } from '../dependencies.ts';
import type { JobRow } from '../table/jobRow.ts';
import { isStoreDown } from './storeFile.ts';

/** A request from a row, without its file. */
export type KeptRequest = ImageRequest | VideoRequest | SpeechRequest | Omit<TranscriptRequest, 'file'>;

/** Returns the request that a job was made from. Rejects with an `ObjectStoreError` if the store does not have its texts now. */
export async function toRequest(
  row: JobRow,
  { texts, store }: Pick<JobDependencies, 'texts' | 'store'>,
): Promise<KeptRequest> {
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

/** Rejects like a busy backend if the store is down before a backend is called, so that no attempt counts. */
export async function whereStoreIsUp<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    throw isStoreDown(error) ? new BackendFault('busy', { cause: error }) : error;
  }
}

/** Splits a request into texts of the client and fields that the row holds as they are. Files are neither. */
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
