import { Prisma } from '../../generated/client.ts';
import { BackendFault, type Replica } from '../../terms/backend.ts';
import { interval } from '../table/jobRow.ts';
import { fail } from './afterFault.ts';
import { complete } from './complete.ts';
import type { HeldJob } from './heldJob.ts';
import type { House } from './house.ts';
import { isStoreDown, storeFile } from './storeFile.ts';
import { toRequest } from './toRequest.ts';
import { InvalidOutput } from './workshop.ts';

/** How soon a backend that gave no clip is asked again. */
const ASK_AGAIN_MS = 3_000;
/** A backend that has said for so long that it cannot give a clip that it has completed does not have it. */
const GIVEN_UP_MS = 15_000;
/** The same of one that breaks off: where it always does, more tries bring nothing. */
const BROKEN_OFF_MS = 120_000;

/**
 * Brings a clip from its backend to the object store, and ends the job with it. As long as the store takes nothing, or the backend
 * cannot be reached, the clip stays where it is, and the job is in `storing` until its deadline.
 */
export async function storeVideo(held: HeldJob, replica: Replica, house: House): Promise<void> {
  const { backendId, unitsBound } = held.row;
  const dialect = house.backends.dialectOf(replica);
  try {
    const request = await toRequest(held.row, house);
    if (request.operation !== 'videos' || !dialect.videoContent || backendId === null)
      throw new BackendFault('misconfigured');
    const source = await dialect.videoContent(replica, backendId, held.signal);
    const made = await house.workshop.clip(source, request, held.signal);
    try {
      const output = await storeFile(held, { made, index: 0 }, house);
      // Whole seconds of what was decoded, and never more than was asked for.
      const units = Math.min(Math.max(Math.ceil(output.seconds ?? 0), 1), unitsBound);
      await complete(held, { units, outputs: [output] }, house);
    } finally {
      await made.discard();
    }
  } catch (error) {
    if (held.signal.aborted) throw error;
    if (error instanceof InvalidOutput) await fail(held, 'invalid_output', house);
    else if (error instanceof BackendFault) await waitFor(held, error, house);
    else if (isStoreDown(error)) await held.step(Prisma.sql`due_at = now() + ${interval(ASK_AGAIN_MS)}`);
    else throw error;
  }
}

async function waitFor(held: HeldJob, { kind }: BackendFault, house: House): Promise<void> {
  const { missingSince, now } = held.row;
  const isAway = kind === 'unreachable' || kind === 'busy';
  const triedMs = missingSince === null ? 0 : now.getTime() - missingSince.getTime();
  if (!isAway && triedMs >= (kind === 'answer_lost' ? BROKEN_OFF_MS : GIVEN_UP_MS))
    return fail(held, kind === 'answer_lost' ? 'invalid_output' : 'backend_lost', house);
  const since = isAway ? Prisma.sql`missing_since` : Prisma.sql`coalesce(missing_since, now())`;
  await held.step(Prisma.sql`missing_since = ${since}, due_at = now() + ${interval(ASK_AGAIN_MS)}`);
}
