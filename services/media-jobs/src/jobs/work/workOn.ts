import { Prisma } from '../../generated/client.ts';
import type { Replica } from '../../terms/backend.ts';
import { interval } from '../table/jobRow.ts';
import { tryAgain } from './afterFault.ts';
import type { HeldJob } from './heldJob.ts';
import type { House } from './house.ts';
import { pollVideo } from './pollVideo.ts';
import { renderJob } from './renderJob.ts';
import { storeVideo } from './storeVideo.ts';
import { submitVideo } from './submitVideo.ts';

/** Begins a job on the replica where it has its turn. */
export const beginOn = (held: HeldJob, replica: Replica, house: House): Promise<void> =>
  held.row.operation === 'videos' ? submitVideo(held, replica, house) : renderJob(held, replica, house);

/** For so long a replica that is in no file may be in another process' one. */
const UNKNOWN_MS = 60_000;
const ASK_AGAIN_MS = 2_000;

/** Goes on with a job that has begun: its next look is due, or whoever had it is gone. */
export async function goOn(held: HeldJob, house: House): Promise<void> {
  const { operation, state, replica: id, missingSince, now } = held.row;
  // Rendered for a worker that is gone, or begun under an id that no row has: no engine shows which of its jobs is this one.
  if (operation !== 'videos' || state === 'submitting') return tryAgain(held, 'backend_lost', house);
  const replica = house.backends.list().find((each) => each.replica.id === id)?.replica;
  if (!replica) {
    const isGone = missingSince !== null && now.getTime() - missingSince.getTime() > UNKNOWN_MS;
    if (isGone) return tryAgain(held, 'backend_lost', house);
    await held.step(Prisma.sql`
      missing_since = coalesce(missing_since, now()), due_at = now() + ${interval(ASK_AGAIN_MS)}`);
    return;
  }
  if (state === 'running') return pollVideo(held, replica, house);
  return storeVideo(held, replica, house);
}
