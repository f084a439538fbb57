import type { MediaKind, MediaRecord } from '../load/media/mediaRecord.ts';
import type { MediaModels } from '../stack/mediaModels.ts';
import { compareHeld } from './compareHeld.ts';
import type { Evidence } from './evidence.ts';
import type { ProblemList } from './problemList.ts';
import type { JobRow } from './readJobs.ts';
import type { LedgerRow } from './readLedger.ts';

interface Compared {
  lost: number;
  doubled: number;
  difference: bigint;
}

/** Attempts of a job that may have rendered something. */
const MOST_ATTEMPTS = 2;
const TERMINAL = new Set(['completed', 'failed', 'cancelled']);
/** A client that got this cannot know whether there was a job, or what became of it. */
const IS_UNSURE = new Set(['broken', 'hung', '500', '502', '503', '504']);

/** Compares each media call's row with its job, with what its client saw, and with what was rendered for it. */
export function compareMedia({ media, rows }: Pick<Evidence, 'media' | 'rows'>, problems: ProblemList): Compared {
  const ofMedia = new Map(rows.filter(({ modality }) => modality !== 'text').map((row) => [row.callId, row]));
  const ofJobs = compareJobs(media, ofMedia, problems);
  const jobCalls = new Set(media.jobs.filter((job) => !isKeptAnswer(job)).map(({ callId }) => callId));
  const withoutJob = [...ofMedia.values()].filter(({ callId }) => !jobCalls.has(callId));
  const ofOthers = compareWithoutJob(media, withoutJob, problems);
  const untold = compareUntold(media, problems);
  compareHidden(media, problems);
  compareRenders(media, problems);
  const shared = compareHeld(media, problems);
  return {
    lost: ofJobs.lost + ofOthers.lost,
    doubled: ofJobs.doubled + ofOthers.doubled + untold + shared,
    difference: ofJobs.difference + ofOthers.difference,
  };
}

/** The answer of speech or of a transcript that a client waited for, which is kept for retries as an ended job. */
const isKeptAnswer = ({ isHidden, operation }: JobRow): boolean => isHidden && operation !== 'images.generations';

/** Each job has ended, once, with one row and one charge, that of what was measured; and its client was told so. */
function compareJobs(
  { calls, jobs, models }: Evidence['media'],
  rows: ReadonlyMap<string, LedgerRow>,
  problems: ProblemList,
): Compared {
  const compared: Compared = { lost: 0, doubled: 0, difference: 0n };
  const byId = new Map(jobs.map((job) => [job.jobId, job]));
  const clients = new Map<string, MediaRecord>();
  for (const call of calls) {
    if (call.jobId === undefined) continue;
    clients.set(call.jobId, call);
    if (byId.has(call.jobId)) continue;
    compared.lost += 1;
    problems.add('a job that a client was told of has no row', call.jobId);
  }
  for (const job of jobs) {
    const client = clients.get(job.jobId);
    const what = describe(job, client);
    if (!TERMINAL.has(job.state)) {
      problems.add('a job has not ended', what);
      continue;
    }
    const row = rows.get(job.callId);
    if (!row) {
      compared.lost += 1;
      problems.add('a job that has ended is not in the ledger', what);
      continue;
    }
    const isCompleted = job.state === 'completed';
    const units = isCompleted ? (client?.units ?? job.units ?? 0) : 0;
    const charge = costOf(units, row.canonicalModel, models);
    const difference = apart(row.charge, charge) + apart(job.charge ?? 0n, charge);
    compared.difference += difference;
    if (difference > 0n)
      problems.add('a job is not charged what was measured', `${what}: ${job.charge}, ${row.charge} in the ledger`);
    if ((row.status === 'success') !== isCompleted) problems.add(`the row of a job says ${row.status}`, what);
    if (row.units !== units || job.units !== units)
      problems.add('a job has other units than were measured', `${what}; ${row.units} in the ledger, not ${units}`);
    if (!job.isSettled) problems.add('a job is not settled', what);
    if (job.inputs > 0) problems.add('uploads of a job are still there', what);
    if (isCompleted && job.outputs === 0) problems.add('a completed job has no output', what);
    if (client) compareClient(client, job, problems);
  }
  return compared;
}

/** Compares the job with its client's view. The client may have seen one end only. */
function compareClient(client: MediaRecord, job: JobRow, problems: ProblemList): void {
  const what = describe(job, client);
  const ends = client.seen.filter((status) => status === 'completed' || status === 'failed');
  if (ends.length > 1 || (ends.length === 1 && client.seen.at(-1) !== ends[0]))
    problems.add('a client saw more than one end of a job', `${what}: ${client.seen.join(', ')}`);
  if (client.outcome === 'ok' && job.state !== 'completed') problems.add('a client has what a job did not make', what);
  if (client.outcome === 'failed' && job.state !== 'failed') problems.add('a client was told of another end', what);
  const { usage } = client;
  if (!usage || ends.length === 0) return;
  // Shown in the unit of the price, and counted in seconds where that is a minute.
  const shown = client.kind === 'transcript job' ? Math.round(usage.units * 60) : usage.units;
  if (shown !== job.units || BigInt(Math.round(usage.spend * 1e9)) !== job.charge)
    problems.add('a client was told another cost of its job', `${what}: told ${usage.units}, ${usage.spend}`);
}

/**
 * Checks that synchronous speech and transcripts have one row each, with the requested units, even if the response was lost. Any other row
 * without a job is of a call that ended before its job existed. Such a call costs nothing, and its client got no response.
 */
function compareWithoutJob(
  { calls, models }: Evidence['media'],
  rows: readonly LedgerRow[],
  problems: ProblemList,
): Compared {
  const compared: Compared = { lost: 0, doubled: 0, difference: 0n };
  const waited = calls.filter(({ kind }) => kind === 'speech' || kind === 'transcript');
  const left = new Set(rows);
  const take = (isIt: (row: LedgerRow) => boolean): LedgerRow | undefined => {
    const found = [...left].find(isIt);
    if (found) left.delete(found);
    return found;
  };
  for (const { kind, units } of waited.filter(({ outcome }) => outcome === 'ok')) {
    const model = modelOf(kind, models);
    if (take((row) => row.status === 'success' && row.units === units && row.canonicalModel === model)) continue;
    compared.lost += 1;
    problems.add('a call that was answered has no row of its units', `${kind}, ${units}`);
  }
  for (const row of rows) compared.difference += apart(row.charge, costOf(row.units ?? 0, row.canonicalModel, models));
  const unsure = calls.filter(({ outcome, jobId }) => jobId === undefined && IS_UNSURE.has(outcome));
  const surplus = left.size - unsure.length;
  if (surplus > 0) {
    compared.doubled += surplus;
    problems.add(
      'there are more rows without a job than calls',
      `${left.size} for ${unsure.length} that did not end well`,
    );
  }
  const charged = [...left].filter(({ charge }) => charge > 0n);
  const cut = waited.filter(({ outcome }) => outcome === 'broken' || outcome === 'hung');
  if (charged.length > cut.length)
    problems.add('what was refused is charged', `${charged.length} rows, ${cut.length} calls were cut`);
  return compared;
}

/** Checks that there are at most as many charged jobs without a known client as calls whose response was lost. */
function compareUntold({ calls, jobs }: Evidence['media'], problems: ProblemList): number {
  const told = new Set(calls.map(({ jobId }) => jobId));
  const untold = jobs.filter(({ jobId, isHidden, charge }) => !isHidden && (charge ?? 0n) > 0n && !told.has(jobId));
  const unsure = calls.filter(
    ({ kind, jobId, outcome }) => isOfJob(kind) && jobId === undefined && IS_UNSURE.has(outcome),
  );
  const surplus = Math.max(untold.length - unsure.length, 0);
  if (surplus > 0)
    problems.add(
      'a job is charged that no client has',
      `${untold.length} jobs for ${unsure.length} lost answers: ${untold[0]?.jobId}`,
    );
  const shared = calls.filter(({ jobId }) => jobId !== undefined).length - told.size + (told.has(undefined) ? 1 : 0);
  if (shared > 0) problems.add('two calls have one job', `${shared} times`);
  return surplus;
}

const isOfJob = (kind: MediaKind): boolean => kind === 'video' || kind.endsWith(' job');

/** Images that a client waited for: as many completed jobs as answers, and more only where an answer was lost. */
function compareHidden({ calls, jobs }: Evidence['media'], problems: ProblemList): void {
  const hidden = jobs.filter((job) => job.isHidden && !isKeptAnswer(job));
  const waited = calls.filter(({ kind }) => kind === 'images');
  const completed = hidden.filter(({ state }) => state === 'completed').length;
  const ok = waited.filter(({ outcome }) => outcome === 'ok').length;
  const unsure = waited.filter(({ outcome }) => IS_UNSURE.has(outcome)).length;
  if (completed < ok || completed > ok + unsure)
    problems.add('images were charged that nobody got', `${completed} jobs completed, ${ok} calls ended well`);
}

/**
 * Compares renders with calls. A completed call was rendered, and none more often than it has attempts; a call that waits without
 * a job has two as well. Several calls may have one prompt.
 */
function compareRenders({ calls, jobs, models, renders }: Evidence['media'], problems: ProblemList): void {
  const keyOf = (model: string | undefined, prompt: string): string => `${model}: ${prompt}`;
  const finished = new Map<string, number>();
  for (const { model, prompt, state } of renders) {
    const key = keyOf(model, prompt);
    if (state === 'finished') finished.set(key, (finished.get(key) ?? 0) + 1);
  }
  const isCompleted = new Set(jobs.filter(({ state }) => state === 'completed').map(({ jobId }) => jobId));
  const asked = new Map<string, { made: number; most: number; what: string }>();
  for (const { kind, prompt, units, outcome, jobId } of calls) {
    if (kind.startsWith('transcript')) continue;
    const key = keyOf(modelOf(kind, models), prompt);
    const { made, most } = asked.get(key) ?? { made: 0, most: 0 };
    const each = kind.startsWith('image') ? units : 1;
    const isMade = outcome === 'ok' || (jobId !== undefined && isCompleted.has(jobId));
    asked.set(key, {
      made: made + (isMade ? each : 0),
      most: most + MOST_ATTEMPTS * each,
      what: `${kind} ${jobId}`,
    });
  }
  for (const [key, { made, most, what }] of asked) {
    const count = finished.get(key) ?? 0;
    if (count < made) problems.add('more was completed than was rendered', `${what}: ${count}`);
    if (count > most) problems.add('something was rendered more often than it may', `${what}: ${count} times`);
  }
}

const modelOf = (kind: MediaKind, models: MediaModels): string | undefined =>
  Object.entries(models).find(([name]) => kind.startsWith(name))?.[1].id;

const DIGITS = 18;
const NANO_IN_ATTO = 10n ** 9n;
const SECONDS_IN_MINUTE = 60n;

/** Returns the cost of units, rounded half-up once. It does not use the product's own arithmetic, which it judges. */
export function costOf(units: number, model: string, models: MediaModels): bigint {
  const entry = Object.values(models).find(({ id }) => id === model);
  if (!entry) throw new Error(`there is no price of ${model}`);
  const [whole = '0', fraction = ''] = entry.unitPrice.split('.');
  const atto = BigInt(units) * BigInt(whole + fraction.padEnd(DIGITS, '0'));
  const one = entry.unit === 'minute' ? SECONDS_IN_MINUTE * NANO_IN_ATTO : NANO_IN_ATTO;
  return (2n * atto + one) / (2n * one);
}

const apart = (a: bigint, b: bigint): bigint => (a > b ? a - b : b - a);

const describe = ({ jobId, operation, state, errorCode, attempts }: JobRow, client?: MediaRecord): string =>
  `${jobId} (${operation}): ${state}${errorCode ? ` (${errorCode})` : ''} after ${attempts} attempts; client ${client?.outcome ?? 'unseen'}`;
