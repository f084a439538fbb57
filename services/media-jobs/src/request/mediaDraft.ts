import { createHash } from 'node:crypto';
import type { MediaOperation, MediaRequest } from '../terms/mediaRequest.ts';
import type { RequestedModel } from './models/modelRules.ts';

/** A request that is read, and checked except for the rules of its model. */
export interface MediaDraft<Request extends MediaRequest> {
  /** Id or alias, from the client. */
  readonly model: string;
  /** SHA-256 of the fields as they were understood and of the files: the same for a call that its client sends again. */
  readonly digest: Buffer;
  /** The request to this model, by its id. Throws `invalid_request` for what the model cannot do, and names what it can. */
  forModel(model: RequestedModel): Request;
  /** Counts its body, which was read in vain, where the key's own request is what it was refused for. */
  refused(error: unknown): void;
  /** Lets go of what was read, files included. To be called once nothing needs the request any more, however the call ends. */
  discard(): Promise<void>;
}

/** Answers a request, and lets go of what was read of it, however that ends. */
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
