import { createHash } from 'node:crypto';
import type { MediaOperation, MediaRequest } from '../terms/mediaRequest.ts';
import type { RequestedModel } from './models/modelRules.ts';

/** A request that is read, and checked except for the rules of its model. */
export interface MediaDraft<Request extends MediaRequest> {
  /** Id or alias, from the client. */
  readonly model: string;
  /** SHA-256 of the parsed fields and of the files, equal for a retry of the call. */
  readonly digest: Buffer;
  /**
   * Returns the request for this model, by its id. Throws `invalid_request` for what the model cannot do, with the
   * possible values.
   */
  forModel(model: RequestedModel): Request;
  /** Counts the body toward the key's allowance if the key's own request is the reason of the refusal. */
  refused(error: unknown): void;
  /** Frees everything that was read, files included. To be called at every end of the call. */
  discard(): Promise<void>;
}

/** Runs the answer to a request, and frees everything that was read at every end. */
export async function underDraft<Result>(
  draft: Pick<MediaDraft<MediaRequest>, 'refused' | 'discard'>,
  answer: () => Promise<Result>,
): Promise<Result> {
  try {
    return await answer();
  } catch (error) {
    draft.refused(error);
    throw error;
  } finally {
    await draft.discard();
  }
}

export function digestOf(operation: MediaOperation, fields: object, ...sha256s: string[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([operation, fields, ...sha256s]))
    .digest();
}
