import { ApiError } from '@turnpike/public-api/apiError';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import type { BackendFault as CallFault } from '../api/mediaFault.ts';
import { MediaFault } from '../media/mediaFault.ts';
import { BackendFault } from '../terms/backend.ts';

const RETRY_AFTER_SECONDS = 2;

const fault = (callFault: CallFault, cause: unknown): ApiError => new ApiError(callFault, { cause });

/** Returns the client's error for a fault of a backend or a file. Returns any other error unchanged. */
export function toCallError(error: unknown): unknown {
  if (error instanceof MediaFault) return toMediaError(error);
  if (!(error instanceof BackendFault)) return error;
  switch (error.kind) {
    case 'busy':
    case 'unreachable':
    case 'cut_off': {
      const retryAfterSeconds = Math.ceil((error.retryAfterMs ?? RETRY_AFTER_SECONDS * 1_000) / 1_000);
      return fault({ kind: 'backend_unavailable', retryAfterSeconds }, error);
    }
    case 'refused_request':
      return fault({ kind: 'backend_refused', param: error.param ?? null }, error);
    case 'content_refused':
      return fault({ kind: 'content_refused' }, error);
    case 'failed':
    case 'answer_lost':
    case 'misconfigured':
      return fault({ kind: 'backend_failed' }, error);
  }
}

function toMediaError(error: MediaFault): ApiError {
  switch (error.kind) {
    case 'overloaded':
      return fault({ kind: 'transcode_overloaded', retryAfterSeconds: RETRY_AFTER_SECONDS }, error);
    case 'invalid_input':
      return invalidRequest('file', 'file must be a recording: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm');
    case 'too_long':
      return invalidRequest('file', 'file lasts longer than the model takes');
    case 'too_dense':
      return invalidRequest('file', 'file must have at most 8 channels and 192 kHz');
    case 'invalid_output':
      return fault({ kind: 'backend_failed' }, error);
  }
}

/** Returns the reason of a failed call for its event: a short code of this service. */
export const reasonOf = (error: unknown): string => {
  const told = toCallError(error);
  return told instanceof ApiError ? told.fault.kind : 'unforeseen';
};
