import { Prisma } from '../../generated/client.ts';
import { BackendFault, type BackendJob, type Dialect, type Replica } from '../../terms/backend.ts';
import { interval, type JobRow } from '../table/jobRow.ts';
import { STORE_MS } from '../times.ts';
import { fail, tryAgain } from './afterFault.ts';
import type { HeldJob } from './heldJob.ts';
import type { House } from './house.ts';
import { storeVideo } from './storeVideo.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5_000;
/** A job that a replica does not know is lost once it has said so again after this long. */
const MISSING_MS = 5_000;
/** As far as a clip is said to be before its bytes are ours, and where its engine does not say. */
const MOST_PROGRESS = 99;

/** Looks at a clip under way. Only what its backend says of it is a verdict: whatever else comes is no news, and the deadline ends that. */
export async function pollVideo(held: HeldJob, replica: Replica, house: House): Promise<void> {
  const dialect = house.backends.dialectOf(replica);
  const job = await look(held.row, { replica, dialect }, held.signal);
  if (job === undefined) await held.step(Prisma.sql`due_at = now() + ${nextLook(held.row)}`);
  else if (job === 'missing') await miss(held, { replica, dialect }, house);
  else if (job.status === 'failed') await fail(held, job.failure ?? 'generation_failed', house);
  else if (job.status === 'completed') {
    await held.step(Prisma.sql`
      state = 'storing', missing_since = NULL, progress = ${MOST_PROGRESS}, deadline_at = now() + ${interval(STORE_MS)}`);
    await storeVideo(held, replica, house);
  } else {
    const progress = Math.max(toProgress(job), house.estimate.progressOf(held.row));
    await held.step(Prisma.sql`
      missing_since = NULL, progress = greatest(progress, ${progress}), due_at = now() + ${nextLook(held.row)}`);
  }
}

interface Asked {
  replica: Replica;
  dialect: Dialect;
}

/** Undefined where there is no news. */
async function look(
  { backendId }: JobRow,
  { replica, dialect }: Asked,
  signal: AbortSignal,
): Promise<BackendJob | 'missing' | undefined> {
  if (!dialect.getVideo || backendId === null) return 'missing';
  try {
    return await dialect.getVideo(replica, backendId, signal);
  } catch (error) {
    if (error instanceof BackendFault) return undefined;
    throw error;
  }
}

/** One that was missing for a while, on a replica that can say what it has, is lost: it was restarted. */
async function miss(held: HeldJob, { replica, dialect }: Asked, house: House): Promise<void> {
  const { missingSince, now } = held.row;
  const isLost = missingSince !== null && now.getTime() - missingSince.getTime() >= MISSING_MS;
  if (isLost && (await lists(replica, dialect, held.signal))) return tryAgain(held, 'backend_lost', house);
  await held.step(Prisma.sql`
    missing_since = coalesce(missing_since, now()), due_at = now() + ${interval(MISSING_MS)}`);
}

async function lists(replica: Replica, dialect: Dialect, signal: AbortSignal): Promise<boolean> {
  try {
    for await (const _job of dialect.listVideos?.(replica, signal) ?? []) return true;
    return true;
  } catch (error) {
    if (error instanceof BackendFault) return false;
    throw error;
  }
}

/** What its engine says, if that is a part of the way. */
const toProgress = ({ progress }: BackendJob): number =>
  Math.min(Math.max(Math.floor(progress ?? 0), 0), MOST_PROGRESS);

/** The longer it has taken, the later, and not all at once. */
function nextLook({ sentAt, now }: JobRow): Prisma.Sql {
  const elapsedMs = sentAt === null ? 0 : now.getTime() - sentAt.getTime();
  const pauseMs = Math.min(FIRST_PAUSE_MS + elapsedMs / 10, LONGEST_PAUSE_MS);
  return interval(pauseMs * (0.8 + 0.4 * Math.random()));
}
