import type { Replica } from '../../terms/backend.ts';
import type { JobDependencies } from '../dependencies.ts';
import { tryAgain } from './afterFault.ts';
import type { HeldJob } from './heldJob.ts';
import { renderJob } from './renderJob.ts';
import { pollClip, storeClip, submitClip } from './workOnClip.ts';

/** Begins a job on the replica where it has its turn. */
export const beginOn = (held: HeldJob, replica: Replica, dependencies: JobDependencies): Promise<void> =>
  held.row.operation === 'videos' ? submitClip(held, replica, dependencies) : renderJob(held, replica, dependencies);

/** Time that a replica missing from this process' file may be in another process' file. */
const UNKNOWN_MS = 60_000;
const ASK_AGAIN_MS = 2_000;

/** Continues a job that has begun: its next poll is due, or the lease of its worker has lapsed. */
export async function goOn(held: HeldJob, dependencies: JobDependencies): Promise<void> {
  const { operation, state, replica: id, missingSince, now } = held.row;
  // Either the worker of a render is gone, or the row lacks the clip's id. No engine shows which of its clips this is.
  if (operation !== 'videos' || state === 'submitting') return tryAgain(held, 'backend_lost', dependencies);
  const replica = dependencies.backends.list().find((each) => each.replica.id === id)?.replica;
  if (!replica) {
    const isGone = missingSince !== null && now.getTime() - missingSince.getTime() > UNKNOWN_MS;
    if (isGone) return tryAgain(held, 'backend_lost', dependencies);
    await held.step('miss', { dueInMs: ASK_AGAIN_MS });
    return;
  }
  return state === 'running' ? pollClip(held, replica, dependencies) : storeClip(held, replica, dependencies);
}
