import type { Db } from '../../database/createDb.ts';
import { Prisma } from '../../generated/client.ts';
import { BackendFault, type BackendJob, type Replica } from '../../terms/backend.ts';
import { interval, type JobRow } from '../table/jobRow.ts';
import { tryAgain } from './afterFault.ts';
import type { HeldJob } from './heldJob.ts';
import type { House } from './house.ts';
import { isStoreDown } from './storeFile.ts';

/** Names the lock under which backends' jobs are taken up, among the advisory locks of the database. */
const ADOPTION_LOCK = 4_071_882_316;
/** How soon a replica that does not answer is asked again for what it has. */
const ASK_AGAIN_MS = 2_000;
/** The clocks of a backend and the database may differ by so much. */
const CLOCKS_DIFFER_MS = 30_000;

/**
 * Looks at a replica whose answer was lost for the job that it may have begun, and takes it up. Where it has none that fits, the job has
 * another attempt; what the first one has begun all the same is removed as nobody's.
 */
export async function adoptVideo(held: HeldJob, replica: Replica, house: House): Promise<void> {
  const { db, backends } = house;
  const listed = backends.dialectOf(replica).listVideos?.(replica, held.signal);
  try {
    const found = listed ? await find(held.row, listed, house) : [];
    for (const { id } of found) if (await adopt(db, held, { replica, id })) return;
  } catch (error) {
    if (!(error instanceof BackendFault) && !isStoreDown(error)) throw error;
    // No news: the deadline ends this.
    await held.step(Prisma.sql`due_at = now() + ${interval(ASK_AGAIN_MS)}`);
    return;
  }
  await tryAgain(held, 'backend_lost', house);
}

/** Jobs with our prompt that were begun since the attempt, the newest first. A list without prompts or times shows none. */
async function find(
  row: JobRow,
  listed: AsyncIterable<BackendJob>,
  { texts }: Pick<House, 'texts'>,
): Promise<BackendJob[]> {
  const { prompt } = await texts.open(row);
  const since = (row.sentAt?.getTime() ?? 0) - CLOCKS_DIFFER_MS;
  const found: BackendJob[] = [];
  for await (const job of listed)
    if (job.prompt !== null && job.prompt === prompt && job.createdAtMs !== null && job.createdAtMs >= since)
      found.push(job);
  return found.sort((a, b) => (b.createdAtMs ?? 0) - (a.createdAtMs ?? 0));
}

/** False where another row has it. Two workers that have found the same one go one after the other. */
const adopt = (db: Db, held: HeldJob, { replica, id }: { replica: Replica; id: string }): Promise<boolean> =>
  db.$transaction(async (tx) => {
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(${ADOPTION_LOCK}::BIGINT)`;
    const others = await tx.$queryRaw<unknown[]>`
      SELECT 1 FROM job WHERE replica = ${replica.id} AND backend_id = ${id} AND backend_cleared_at IS NULL LIMIT 1`;
    if (others.length > 0) return false;
    await held.step(Prisma.sql`state = 'running', backend_id = ${id}, due_at = now() + ${interval(ASK_AGAIN_MS)}`, tx);
    return true;
  });
