import type { PendingCalls } from '../call/pendingCalls.ts';
import type { CallAddress } from '../redis/redisKeys.ts';
import type { Standing } from '../redis/standing.ts';
import type { Admission, AdmitRequest } from './admit.ts';

export interface LetInOptions {
  admit: (request: AdmitRequest) => Promise<Admission>;
  giveBack: (address: CallAddress) => Promise<void>;
  pending: Pick<PendingCalls, 'add'>;
  standing: Pick<Standing, 'session' | 'suspect'>;
}

/**
 * Makes `letIn(request)`: has a call admitted, and believes only what still holds when the answer comes. An admitted call is put back
 * with all others from then on. Where the session is another one by then, what was listed under it lacks the call: it is given back,
 * and the answer is `closed`. Where no answer comes, Redis may yet admit the call: it is given back, and this rejects.
 */
export function createLetIn({ admit, giveBack, pending, standing }: LetInOptions) {
  return async (request: AdmitRequest): Promise<Admission> => {
    const admission = await admit(request).catch((error: unknown) => {
      const { callId, key } = request;
      // A full Redis has admitted nothing. To give the call back would take memory, for its tombstone.
      if (!(error instanceof Error && error.message.startsWith('OOM ')))
        void giveBack({ callId, keyId: key.keyId, workspaceId: key.workspace.workspaceId });
      throw error;
    });
    if (admission.outcome === 'closed') standing.suspect();
    if (admission.outcome !== 'admitted') return admission;
    const { hold } = admission;
    if (standing.session?.token !== hold.session) {
      void giveBack(hold);
      return { outcome: 'closed' };
    }
    pending.add(hold);
    return admission;
  };
}
