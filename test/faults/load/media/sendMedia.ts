import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { readMark } from '@turnpike/media-simulator/outputs/marks';
import { type Dispatcher, FormData, request } from 'undici';
import { z } from 'zod';
import type { MediaOutcome, MediaRecord } from './mediaRecord.ts';
import type { MediaPlan } from './planMedia.ts';

/** Longest that a client waits for one answer, and for the end of a job. */
const ANSWER_PATIENCE_MS = 110_000;
const LOOK_PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 250;
/** Pause before the first retry; twice as long before each next one. */
const RETRY_AFTER_MS = 500;
const MOST_RETRY_AFTER_MS = 4_000;
const TERMINAL = new Set(['completed', 'failed']);

const usageSchema = z.object({ units_consumed: z.number(), total_spend: z.number() });
const jobSchema = z.object({
  id: z.string(),
  status: z.string(),
  error: z.object({ code: z.string() }).nullable(),
  usage: usageSchema.nullable(),
});
type Job = z.output<typeof jobSchema>;
const imagesSchema = z.object({ data: z.array(z.object({ b64_json: z.string().min(1) })), usage: usageSchema });
const transcriptSchema = z.object({ text: z.string() });
const errorSchema = z.object({
  error: z.union([z.string(), z.object({ code: z.unknown().optional(), message: z.string() })]),
});

interface Target {
  baseUrl: string;
  dispatcher: Dispatcher;
  patienceMs: number;
}

interface Answer {
  /** 0 where none came. */
  status: number;
  body: Buffer;
  /** Whether the body came to its end. */
  isWhole: boolean;
  hasHung: boolean;
  mayRetry: boolean;
}

/** Makes one media call, and follows its job to the end, and sends its creation again where the plan says so. Never rejects. */
export async function sendMedia(plan: MediaPlan, target: Target): Promise<MediaRecord> {
  const { kind, prompt, units, path, jobsPath, body } = plan;
  const record: MediaRecord = {
    kind,
    prompt,
    units,
    repeats: 0,
    outcome: 'hung',
    error: undefined,
    jobId: undefined,
    usage: undefined,
    held: [],
    seen: [],
    startedAt: Date.now(),
    endedAt: 0,
  };
  const content =
    body instanceof FormData
      ? { body, headers: {} }
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const { most = 0, patienceMs = ANSWER_PATIENCE_MS } = plan.retries ?? {};
  const create = (): Promise<Answer> => {
    const headers = { ...content.headers, 'x-stainless-retry-count': `${record.repeats}` };
    return ask(target, { ...content, headers, path, plan, method: 'POST', patienceMs });
  };
  let answer = await create();
  while (record.repeats < most && answer.mayRetry) {
    await pause(Math.min(RETRY_AFTER_MS * 2 ** record.repeats, MOST_RETRY_AFTER_MS));
    record.repeats += 1;
    answer = await create();
  }
  const end = (outcome: MediaOutcome): MediaRecord => Object.assign(record, { outcome, endedAt: Date.now() });
  if (answer.hasHung) return end('hung');
  if (!answer.isWhole) return end('broken');
  if (answer.status >= 300) {
    record.error = toErrorText(answer.body);
    return end(record.error === undefined ? 'malformed' : `${answer.status}`);
  }
  if (jobsPath === undefined) return end(await readAnswer(record, answer));
  const job = parse(jobSchema, answer.body);
  if (!job) return end('malformed');
  record.jobId = job.id;
  see(record, job);
  return end(await followJob(record, plan, target));
}

/** Reads an answer that has no job. */
async function readAnswer(record: MediaRecord, { body }: Answer): Promise<MediaOutcome> {
  if (record.kind === 'speech') return body.length > 0 ? 'ok' : 'malformed';
  if (record.kind === 'transcript') return parse(transcriptSchema, body) ? 'ok' : 'malformed';
  const images = parse(imagesSchema, body);
  if (images?.data.length !== record.units) return 'malformed';
  record.usage = { units: images.usage.units_consumed, spend: images.usage.total_spend };
  await keep(record, ...images.data.map(({ b64_json }) => Buffer.from(b64_json, 'base64')));
  return 'ok';
}

/** Notes what its client holds. */
async function keep(record: MediaRecord, ...files: Buffer[]): Promise<void> {
  for (const bytes of files)
    record.held.push({
      sha256: createHash('sha256').update(bytes).digest('hex'),
      mark: (await readMark(bytes)) ?? null,
    });
}

/** Looks at a job until it has ended or is gone, whatever is broken meanwhile, and reads what it made. */
async function followJob(record: MediaRecord, plan: MediaPlan, target: Target): Promise<MediaOutcome> {
  const path = `${plan.jobsPath}/${record.jobId}`;
  const deadline = performance.now() + target.patienceMs;
  const deleteAt = performance.now() + (plan.deleteAfterMs ?? Number.POSITIVE_INFINITY);
  let isDeleted = false;
  const look = (what: string, method: 'GET' | 'DELETE' = 'GET'): Promise<Answer> =>
    ask(target, { path: what, method, plan, patienceMs: LOOK_PATIENCE_MS });

  while (performance.now() < deadline) {
    if (!isDeleted && performance.now() >= deleteAt) {
      const { status } = await look(path, 'DELETE');
      // One whose answer was lost may have been deleted.
      isDeleted = status === 200 || status === 404;
      continue;
    }
    const { status, body, isWhole } = await look(path);
    if (status === 404) return plan.deleteAfterMs === undefined ? 'gone' : 'deleted';
    const job = status === 200 && isWhole ? parse(jobSchema, body) : undefined;
    if (status === 200 && isWhole && !job) return 'malformed';
    if (job && isDeleted) record.seen.push('there after it was deleted');
    if (job) see(record, job);
    const last = record.seen.at(-1) ?? '';
    if (plan.deleteAfterMs === undefined && TERMINAL.has(last)) {
      if (last === 'failed') return 'failed';
      const content = await look(`${path}/content`);
      if (content.status === 200 && content.isWhole) {
        if (record.kind === 'video' || record.kind === 'image job') await keep(record, content.body);
        return content.body.length > 0 ? 'ok' : 'malformed';
      }
      // The job may expire between the two looks.
      if (content.status === 404) return 'gone';
      if (content.status >= 400 && content.status < 500) return `${content.status}` as MediaOutcome;
    }
    await pause(Math.min(LOOK_EVERY_MS, Math.max(deleteAt - performance.now(), 1)));
  }
  return 'hung';
}

function see(record: MediaRecord, { status, error, usage }: Job): void {
  if (record.seen.at(-1) !== status) record.seen.push(status);
  if (error) record.error = error.code;
  if (usage) record.usage = { units: usage.units_consumed, spend: usage.total_spend };
}

async function ask(
  { baseUrl, dispatcher }: Target,
  {
    path,
    plan,
    patienceMs,
    headers,
    ...options
  }: {
    path: string;
    method: 'GET' | 'POST' | 'DELETE';
    plan: MediaPlan;
    patienceMs: number;
    headers?: Record<string, string>;
    body?: string | FormData;
  },
): Promise<Answer> {
  const patience = AbortSignal.timeout(patienceMs);
  let status = 0;
  let mayRetry = true;
  const chunks: Buffer[] = [];
  try {
    const answer = await request(`${baseUrl}${path}`, {
      ...options,
      headers: { ...headers, authorization: `Bearer ${plan.apiKey}` },
      signal: patience,
      dispatcher,
    });
    status = answer.statusCode;
    mayRetry = answer.headers['x-should-retry'] !== 'false' && (status === 429 || status >= 500);
    for await (const chunk of answer.body) chunks.push(chunk);
    return { status, body: Buffer.concat(chunks), isWhole: true, hasHung: false, mayRetry };
  } catch {
    return { status, body: Buffer.concat(chunks), isWhole: false, hasHung: patience.aborted, mayRetry: true };
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, body: Buffer): z.output<Schema> | undefined {
  try {
    return schema.parse(JSON.parse(body.toString()));
  } catch {
    return undefined;
  }
}

function toErrorText(body: Buffer): string | undefined {
  const error = parse(errorSchema, body)?.error;
  if (error === undefined || typeof error === 'string') return error;
  return `${error.code ?? ''}: ${error.message}`;
}
