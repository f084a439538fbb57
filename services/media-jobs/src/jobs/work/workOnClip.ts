import { MediaFault } from '../../media/mediaFault.ts';
import { BackendFault, type BackendJob, type Dialect, type Replica } from '../../terms/backend.ts';
import type { JobDependencies } from '../dependencies.ts';
import type { JobRow } from '../table/jobRow.ts';
import { afterFault, toFaultKind, tryAgain } from './afterFault.ts';
import { endJob } from './endJob.ts';
import type { HeldJob } from './heldJob.ts';
import { isStoreDown, storeFile } from './storeFile.ts';
import { toRequest, whereStoreIsUp } from './toRequest.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5_000;
/** A clip that a replica does not know counts as lost if the replica confirms that after this time. */
const MISSING_MS = 5_000;
/** Most progress of a clip whose bytes are not in the object store. */
const MOST_PROGRESS = 99;
/** Pause until a backend that gave no clip is asked again. */
const ASK_AGAIN_MS = 3_000;
/** Time after which a completed clip that its backend cannot return counts as lost. */
const GIVEN_UP_MS = 15_000;
/** Time of broken reads after which a clip counts as unreadable. */
const BROKEN_OFF_MS = 120_000;

/**
 * Submits a clip to a replica. If the answer is lost, the job has another attempt, because the row then has no id of
 * the clip. Engines list no mark of this service, and two clients' clips may have the same prompt. A clip that was
 * begun nevertheless is removed as an orphan, and so is the clip of a job that was cancelled meanwhile. Rejects if
 * another row has the same id: the job has another attempt once its lease has lapsed.
 */
export async function submitClip(held: HeldJob, replica: Replica, dependencies: JobDependencies): Promise<void> {
  const dialect = dependencies.backends.dialectOf(replica);
  try {
    const request = await whereStoreIsUp(toRequest(held.row, dependencies));
    if (request.operation !== 'videos' || !dialect.createVideo) throw new BackendFault('misconfigured');
    const options = { ...dependencies.clipSettingsOf(held.row.model), signal: held.signal };
    const { id } = await dialect.createVideo(replica, request, options);
    await held.step('submit', { backendId: id, dueInMs: FIRST_PAUSE_MS });
  } catch (error) {
    if (held.signal.aborted) throw error;
    await afterFault(held, error, dependencies);
  }
}

/**
 * Polls a clip in progress. Only its backend's answer about the clip decides. Without one the deadline ends the job.
 */
export async function pollClip(held: HeldJob, replica: Replica, dependencies: JobDependencies): Promise<void> {
  const dialect = dependencies.backends.dialectOf(replica);
  const clip = await look(held.row, { replica, dialect }, held.signal);
  const dueInMs = nextPollMs(held.row);
  if (clip === undefined) await held.step('askAgain', { dueInMs });
  else if (clip === 'missing') await missClip(held, { replica, dialect }, dependencies);
  else if (clip.status === 'failed')
    await endJob(held, { name: 'fail', code: clip.failure ?? 'generation_failed' }, dependencies);
  else if (clip.status === 'completed') {
    await held.step('store', { progress: MOST_PROGRESS });
    await storeClip(held, replica, dependencies);
  } else {
    const progress = Math.max(toProgress(clip), dependencies.estimate.progressOf(held.row));
    await held.step('follow', { progress, dueInMs });
  }
}

interface Asked {
  replica: Replica;
  dialect: Dialect;
}

/** Returns undefined if the backend does not answer. */
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

/**
 * Gives up a clip that was missing for `MISSING_MS` on a replica that can list its clips, because the replica was
 * restarted.
 */
async function missClip(held: HeldJob, { replica, dialect }: Asked, dependencies: JobDependencies): Promise<void> {
  const { missingSince, now } = held.row;
  const isLost = missingSince !== null && now.getTime() - missingSince.getTime() >= MISSING_MS;
  if (isLost && (await canList(replica, dialect, held.signal))) return tryAgain(held, 'backend_lost', dependencies);
  await held.step('miss', { dueInMs: MISSING_MS });
}

async function canList(replica: Replica, dialect: Dialect, signal: AbortSignal): Promise<boolean> {
  try {
    for await (const _clip of dialect.listVideos?.(replica, signal) ?? []) return true;
    return true;
  } catch (error) {
    if (error instanceof BackendFault) return false;
    throw error;
  }
}

/** Clamps an engine's progress to 0 to `MOST_PROGRESS`. */
const toProgress = ({ progress }: BackendJob): number =>
  Math.min(Math.max(Math.floor(progress ?? 0), 0), MOST_PROGRESS);

/** Returns a pause that grows with the age of the attempt, and varies so that polls spread. */
function nextPollMs({ sentAt, now }: JobRow): number {
  const elapsedMs = sentAt === null ? 0 : now.getTime() - sentAt.getTime();
  return Math.min(FIRST_PAUSE_MS + elapsedMs / 10, LONGEST_PAUSE_MS) * (0.8 + 0.4 * Math.random());
}

/**
 * Copies a clip from its backend to the object store, and ends the job. While the store or the backend is down, the
 * clip stays at the backend, and the job stays in `storing` until its deadline.
 */
export async function storeClip(held: HeldJob, replica: Replica, dependencies: JobDependencies): Promise<void> {
  const { backendId, unitsBound } = held.row;
  const dialect = dependencies.backends.dialectOf(replica);
  try {
    const request = await toRequest(held.row, dependencies);
    if (request.operation !== 'videos' || !dialect.videoContent || backendId === null)
      throw new BackendFault('misconfigured');
    const source = await dialect.videoContent(replica, backendId, held.signal);
    const clip = await dependencies.media.takeClip(source, held.signal);
    try {
      const { width, height } = request.size;
      if (clip.width !== width || clip.height !== height) throw new MediaFault('invalid_output');
      const output = await storeFile(held, { made: clip, index: 0 }, dependencies);
      // Decoded whole seconds, at most the seconds that were asked for.
      const units = Math.min(Math.max(Math.ceil(clip.seconds), 1), unitsBound);
      await endJob(held, { name: 'complete', units, outputs: [output] }, dependencies);
    } finally {
      await clip.discard();
    }
  } catch (error) {
    if (held.signal.aborted) throw error;
    if (isStoreDown(error)) await held.step('askAgain', { dueInMs: ASK_AGAIN_MS });
    else await afterStoreFault(held, error, dependencies);
  }
}

async function afterStoreFault(held: HeldJob, error: unknown, dependencies: JobDependencies): Promise<void> {
  const kind = toFaultKind(error);
  const { missingSince, now } = held.row;
  const triedMs = missingSince === null ? 0 : now.getTime() - missingSince.getTime();
  if (kind === 'invalid_output' || (kind === 'answer_lost' && triedMs >= BROKEN_OFF_MS))
    return endJob(held, { name: 'fail', code: 'invalid_output' }, dependencies);
  if (kind === 'unreachable' || kind === 'busy') await held.step('askAgain', { dueInMs: ASK_AGAIN_MS });
  else if (kind !== 'answer_lost' && triedMs >= GIVEN_UP_MS)
    return endJob(held, { name: 'fail', code: 'backend_lost' }, dependencies);
  else await held.step('miss', { dueInMs: ASK_AGAIN_MS });
}
