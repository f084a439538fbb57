import type { MediaRecord } from '../load/media/mediaRecord.ts';
import type { Render } from '../stack/mediaBackends.ts';
import type { Evidence } from './evidence.ts';
import type { ProblemList } from './problemList.ts';
import type { JobRow } from './readJobs.ts';

/**
 * Checks that each image and video of a client comes from a render of its own. It is the render that the row of its job names, of the
 * request's prompt. Returns how many outputs more than one client has.
 */
export function compareHeld(
  { calls, jobs, renders }: Pick<Evidence['media'], 'calls' | 'jobs' | 'renders'>,
  problems: ProblemList,
): number {
  compareNames(jobs, problems);
  const byMark = new Map<string, Render>();
  for (const render of renders)
    for (const mark of render.marks) {
      if (byMark.has(mark)) problems.add('two renders have one mark', mark);
      byMark.set(mark, render);
    }
  const byId = new Map(jobs.map((job) => [job.jobId, job]));
  const holders = new Map<string, string>();
  // The simulators of a release that comes before this check mark nothing.
  const areMarked = byMark.size > 0 || calls.some(({ held }) => held.some(({ mark }) => mark !== null));
  let shared = 0;
  for (const call of calls) {
    const job = call.jobId === undefined ? undefined : byId.get(call.jobId);
    const what = `${call.kind} ${call.jobId ?? '(waited for)'}`;
    for (const { sha256, mark } of call.held) {
      if (job && !job.hashes.includes(sha256)) problems.add('a client holds other bytes than its job has', what);
      if (!areMarked) continue;
      const render = mark === null ? undefined : byMark.get(mark);
      if (mark === null || !render) {
        problems.add('a client holds what no render made', `${what}: ${mark}`);
        continue;
      }
      const other = holders.get(mark);
      holders.set(mark, what);
      if (other !== undefined) {
        shared += 1;
        problems.add('one render is held twice', `${what} and ${other}: ${describe(render)}`);
      }
      if (!isAsAsked(render, call))
        problems.add('a client holds what it did not ask for', `${what}: ${describe(render)}`);
      if (job && !isNamed(render, job, call))
        problems.add('a client holds a render that its job does not name', `${what}: ${describe(render)}`);
    }
  }
  return shared;
}

/** No two jobs name one clip of a replica. */
function compareNames(jobs: readonly JobRow[], problems: ProblemList): void {
  const names = new Map<string, string>();
  for (const { jobId, replica, backendId } of jobs) {
    if (backendId === null) continue;
    const name = `${replica} ${backendId}`;
    const other = names.get(name);
    if (other !== undefined) problems.add('two jobs name one clip', `${jobId} and ${other}: ${name}`);
    names.set(name, jobId);
  }
}

/** Compares prompt and length. */
const isAsAsked = ({ prompt, units }: Render, call: MediaRecord): boolean =>
  prompt === call.prompt &&
  (call.kind !== 'video' || Math.floor(Number(units.frames) / Number(units.fps)) === call.units);

const isNamed = (render: Render, { replica, backendId }: JobRow, { kind }: MediaRecord): boolean =>
  render.replica === replica && (kind !== 'video' || render.jobId === backendId);

const describe = ({ replica, jobId, state }: Render): string => `${replica} ${jobId ?? ''} (${state})`;
