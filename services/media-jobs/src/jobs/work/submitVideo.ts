import { Prisma } from '../../generated/client.ts';
import { BackendFault, type BackendJob, type Replica } from '../../terms/backend.ts';
import { interval } from '../table/jobRow.ts';
import { afterFault } from './afterFault.ts';
import type { HeldJob } from './heldJob.ts';
import type { House } from './house.ts';
import { isStoreDown } from './storeFile.ts';
import { toRequest } from './toRequest.ts';

const FIRST_POLL_MS = 1_000;

/**
 * Submits a clip to a replica. If its answer is lost, the job has another attempt: engines repeat no mark of ours in their lists, and
 * by its prompt a clip may be another client's. What was begun all the same is removed as an orphan.
 */
export async function submitVideo(held: HeldJob, replica: Replica, house: House): Promise<void> {
  const dialect = house.backends.dialectOf(replica);
  try {
    const request = await toRequest(held.row, house).catch((error: unknown) => {
      throw isStoreDown(error) ? new BackendFault('busy', { cause: error }) : error;
    });
    if (request.operation !== 'videos' || !dialect.createVideo) throw new BackendFault('misconfigured');
    const options = { ...house.clipSettingsOf(held.row.model), signal: held.signal };
    await follow(held, await dialect.createVideo(replica, request, options));
  } catch (error) {
    if (held.signal.aborted) throw error;
    await afterFault(held, error, house);
  }
}

/**
 * The job is a backend's from here on. A job that was cancelled meanwhile leaves an orphan there. Rejects where another row names the
 * same id: then the job has another attempt once its lease has passed.
 */
const follow = (held: HeldJob, { id }: Pick<BackendJob, 'id'>): Promise<unknown> =>
  held.step(Prisma.sql`state = 'running', backend_id = ${id}, due_at = now() + ${interval(FIRST_POLL_MS)}`);
