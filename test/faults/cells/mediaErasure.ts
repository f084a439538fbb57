import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DATABASE_SERVICES, INTERNAL_SERVICES, SERVICES } from '@turnpike/config/services';
import { S3 } from '@turnpike/local-stack/toServiceEnvironments';
import { type Evidence, type Found, findTexts } from '../../support/evidence/evidence.ts';
import { readFiles } from '../../support/evidence/readFiles.ts';
import { readMetricPages } from '../../support/evidence/readMetricPages.ts';
import { readRedis } from '../../support/evidence/readRedis.ts';
import { readTables } from '../../support/evidence/readTables.ts';
import type { CellContext } from '../cellContext.ts';
import type { Fault } from '../fault.ts';
import { failDeletes } from '../stack/failingStore.ts';
import { MEDIA_MODELS } from '../stack/faultCatalog.ts';
import type { LinkChoice } from '../stack/links.ts';
import type { FaultStack } from '../stack/startFaultStack.ts';

const VIDEOS = 50;
const VIDEOS_IN_FULL = 1_000;
/** Calls of a cell with `--full`. */
const FULL_CALLS = 10_000;
/** Rendering waits for the machine, so that no call is refused. */
const PACE = { perSecond: 5, openAtMost: 10 };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SHOWN_MS = 24 * HOUR_MS;
const GONE_BY_MS = 48 * HOUR_MS;
/** Before the end of the 24 hours, as asking for all takes time; and after it, when a clip is to be removed. */
const MARGIN_MS = 10 * MINUTE_MS;
const REMOVAL_MS = 6 * MINUTE_MS;
/** Longer than the minute after which what failed is tried again. */
const ROUND_MS = 2 * MINUTE_MS;
/** A removal that failed is tried again after a minute; one that is on its way has a lease of 15 s. */
const TRIED_AGAIN = "INTERVAL '20 seconds'";
/** For all removals to have been tried once. */
const TRIED_WITHIN_MS = 120_000;
const ASKED_AT_ONCE = 20;
/** Length of a piece of a video: too long to be anywhere by chance. */
const SLICE_BYTES = 48;
/** Jobs whose keys of texts are looked for. */
const KEYS_SOUGHT = 10;

/** All times of a job. */
const TIMES = [
  'due_at',
  'deadline_at',
  'sent_at',
  'begun_at',
  'missing_since',
  'settled_at',
  'created_at',
  'ended_at',
].concat(['expires_at', 'remove_at', 'backend_cleared_at', 'removed_at']);
/** Simulated engines keep their requests in their own logs, by which the books are checked. */
const OF_SIMULATORS = /\/media-simulators\/[^/]+\/log\.jsonl$/;

interface Made {
  jobId: string;
  outputs: { key?: string; bytes: number; sha256: string; seconds: number }[];
}

/**
 * Makes videos whose prompts, images and bytes have a canary, while the store fails deletes. Moves their times, and takes the store
 * down when they are due for removal. Then searches everything that is kept for the canary.
 */
export async function eraseMedia(
  context: CellContext,
  { link, away }: { link: LinkChoice; away: Fault },
): Promise<void> {
  const { stack, random, account } = context;
  const { links, mediaBackends } = stack;
  const bucket = join(stack.dataDir, 's3', 'buckets', S3.bucket);
  const canary = `canary-${randomUUID()}`;
  const keys = account.keys.slice(0, 1);
  const [{ apiKey } = { apiKey: '' }] = keys;

  const deletes = await failDeletes(links.targetOf(link), random);
  stack.stopLater(() => deletes.close());
  links.redirect(link, deletes.port);
  links.reset(link);
  for (const backend of mediaBackends.filter(({ model }) => model === MEDIA_MODELS.video.id))
    await backend.addFaults([{ match: { route: 'POST /v1/videos' }, fault: 'output_with_prompt' }]);

  const calls = context.calls < FULL_CALLS ? VIDEOS : VIDEOS_IN_FULL;
  const records = await context.startMedia({ kinds: ['video'], calls, ...PACE, canary, keys }).done;
  context.checkMediaOutcomes(records, { ok: true });
  await context.untilMediaIsOver();
  const made = await readMade(context);
  context.check(made.length === calls, `${made.length} of ${calls} clips were made`);

  // The slices are there before the search, or their absence would prove nothing.
  const slices = await readSlices(bucket, made);
  const textKeys = await readTextKeys(bucket, made);
  const before = await search(readFiles(bucket), { texts: [canary], bytes: [...slices, ...textKeys] });
  for (const [what, places] of before)
    context.check(
      places.length > 0,
      `${what === canary ? 'the canary of clients’ images' : what} is not in the store to begin with`,
    );

  await ageTo(context, SHOWN_MS - MARGIN_MS);
  await checkAnswers(context, { made, apiKey, status: 200 });
  await ageTo(context, SHOWN_MS);
  await checkAnswers(context, { made, apiKey, status: 404 });
  context.check((await countRemoved(context)) === 0, 'a clip was removed when its 24 hours were just over');

  let ageMs = SHOWN_MS + REMOVAL_MS;
  await away.strike(context);
  await ageTo(context, ageMs);
  await untilTried(context, 'every removal to have failed once, as the store is away');
  context.check((await countRemoved(context)) === 0, 'a job says that it was removed while the store was away');
  await away.repair(context);
  while ((await countJobs(context, 'due_at IS NOT NULL')) > 0 && ageMs < GONE_BY_MS) {
    ageMs += ROUND_MS;
    await ageTo(context, ageMs);
    await untilTried(context, 'every removal that failed to be tried again');
  }
  context.notes.push(
    `${made.length} clips were gone ${(ageMs - SHOWN_MS) / MINUTE_MS} min after their 24 hours; deletes refused: ${deletes.failed.refused}, done and not answered: ${deletes.failed.unanswered}`,
  );

  await checkRecord(context, made);
  const left = await Array.fromAsync(readFiles(bucket));
  context.check(left.length === 0, `${left.length} objects are still in the store, one is ${left[0]?.place}`);
  const [{ jobId: kept } = { jobId: '' }] = made;
  const after = await search(readEverything(stack), { texts: [canary, kept], bytes: [...slices, ...textKeys] });
  for (const what of [canary, ...slices.keys(), ...textKeys.keys()])
    for (const place of after.get(what) ?? []) context.check(false, `${what} is in ${place}`);
  for (const place of ['table media public.job', 'file logs/media-jobs.log'])
    context.check(after.get(kept)?.includes(place) === true, `the search does not find what is in ${place}`);
}

/** All clips that were made, as their rows have them. */
async function readMade({ stack, account }: CellContext): Promise<Made[]> {
  const { rows } = await stack.media.query(
    `SELECT job_id AS "jobId", outputs FROM job WHERE workspace_id = $1 AND state = 'completed' ORDER BY job_id`,
    [account.workspaceId],
  );
  return rows;
}

/** Moves all times of every unfinished job back. A process that is at work on one loses it, because its state is from before. */
async function ageTo({ stack, account }: CellContext, ms: number): Promise<void> {
  const moved = TIMES.map((time) => `${time} = ${time} - (make_interval(secs => $2) - (now() - ended_at))`);
  await stack.media.query(
    `UPDATE job SET version = version + 1, ${moved.join(', ')} WHERE workspace_id = $1 AND due_at IS NOT NULL`,
    [account.workspaceId, ms / 1_000],
  );
}

async function countJobs({ stack, account }: CellContext, which: string): Promise<number> {
  const { rows } = await stack.media.query(
    `SELECT count(*)::INT AS count FROM job WHERE workspace_id = $1 AND ${which}`,
    [account.workspaceId],
  );
  return rows[0].count;
}

const countRemoved = (context: CellContext): Promise<number> => countJobs(context, 'removed_at IS NOT NULL');

/** Waits until each removal that was due has been tried, with success or without. */
async function untilTried(context: CellContext, what: string): Promise<void> {
  const isTried = async (): Promise<boolean> => (await countJobs(context, `due_at <= now() + ${TRIED_AGAIN}`)) === 0;
  await context.until(what, isTried, TRIED_WITHIN_MS);
}

/** Asks for each job and for what it made, as its client. */
async function checkAnswers(
  context: CellContext,
  { made, apiKey, status }: { made: readonly Made[]; apiKey: string; status: 200 | 404 },
): Promise<void> {
  const paths = made.flatMap(({ jobId }) => [`/videos/${jobId}`, `/videos/${jobId}/content`]);
  for (let at = 0; at < paths.length; at += ASKED_AT_ONCE) {
    const asked = paths.slice(at, at + ASKED_AT_ONCE).map(async (path) => {
      const answer = await context.ask(path, apiKey);
      const isRight = answer.status === status && (status === 200 || answer.text.includes('"job_not_found"'));
      const what = path.endsWith('/content') ? 'a content' : 'a job';
      context.check(isRight, `${what} is answered with ${answer.status}, ${status} is right by now`);
    });
    await Promise.all(asked);
  }
}

/** Checks the kept record of each job: its result, counted and hashed, its cost, and the time of its removal. */
async function checkRecord(context: CellContext, made: readonly Made[]): Promise<void> {
  const { rows } = await context.stack.media.query(
    `SELECT job_id, outputs, units, charge_nano_usd, state, sealed_texts IS NULL AND inputs = '[]' AND due_at IS NULL AS is_done,
       extract(epoch FROM removed_at - ended_at)::FLOAT * 1000 AS took_ms
     FROM job WHERE workspace_id = $1`,
    [context.account.workspaceId],
  );
  const byId = new Map(rows.map((row) => [row.job_id, row]));
  for (const { jobId, outputs } of made) {
    const row = byId.get(jobId);
    const isInTime = row?.took_ms > SHOWN_MS && row.took_ms < GONE_BY_MS;
    context.check(isInTime, 'a clip was not removed between 24 and 48 hours after its job’s end');
    context.check(row?.is_done === true, 'a job that was removed has texts or uploads, or is still to be looked at');
    const counted = outputs.map(({ key: _removed, ...output }) => output);
    const isKept = isDeepStrictEqual(row?.outputs, counted) && row?.state === 'completed';
    context.check(
      isKept && row.units > 0 && row.charge_nano_usd > 0,
      'the record of a job that was removed is not whole',
    );
  }
}

/** A piece of the clips of each length: what a simulated engine draws is alike in all of them. By names to be shown. */
async function readSlices(bucket: string, made: readonly Made[]): Promise<Map<string, Buffer>> {
  const slices = new Map<string, Buffer>();
  for (const { outputs } of made)
    for (const { key, seconds } of outputs) {
      const name = `a piece of a clip of ${seconds} s`;
      if (key === undefined || slices.has(name)) continue;
      const clip = await readFile(join(bucket, key));
      slices.set(name, clip.subarray(clip.length / 2, clip.length / 2 + SLICE_BYTES));
    }
  return slices;
}

async function readTextKeys(bucket: string, made: readonly Made[]): Promise<Map<string, Buffer>> {
  const keys = made
    .slice(0, KEYS_SOUGHT)
    .map(
      async ({ jobId }) =>
        [`the text key of ${jobId}`, await readFile(join(bucket, `jobs/${jobId}/text.key`))] as const,
    );
  return new Map(await Promise.all(keys));
}

/** The places of texts, in whatever form they stand there, and of bytes as they are; by the texts, and by the names of bytes. */
async function search(
  evidence: AsyncIterable<Evidence>,
  { texts, bytes }: { texts: string[]; bytes: [string, Buffer][] },
): Promise<Found> {
  const ofBytes: Found = new Map(bytes.map(([name]) => [name, []]));
  async function* looked(): AsyncGenerator<Evidence> {
    for await (const one of evidence) {
      for (const [name, sought] of bytes) if (one.bytes.includes(sought)) ofBytes.get(name)?.push(one.place);
      yield one;
    }
  }
  const ofTexts = await findTexts(looked(), texts);
  return new Map([...ofTexts, ...ofBytes]);
}

/** All that the stack keeps and says: files with logs and spools, rows, Redis, metrics. */
async function* readEverything({
  stateDir,
  postgresUrl,
  redisUrl,
  internalUrlOf,
}: FaultStack): AsyncGenerator<Evidence> {
  const services = INTERNAL_SERVICES.map((service) => [service, { internal_url: internalUrlOf(service) }]);
  yield* await readMetricPages(Object.fromEntries(services));
  yield* readTables(
    postgresUrl,
    DATABASE_SERVICES.map((service) => SERVICES[service].database.name),
  );
  yield* readRedis(redisUrl);
  for await (const file of readFiles(stateDir)) if (!OF_SIMULATORS.test(file.place)) yield file;
}
