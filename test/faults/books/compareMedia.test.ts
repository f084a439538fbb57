import { expect, it } from '@jest/globals';
import type { HeldFile, MediaRecord } from '../load/media/mediaRecord.ts';
import { MEDIA_MODELS } from '../stack/faultCatalog.ts';
import type { Render } from '../stack/mediaBackends.ts';
import { compareMedia, costOf } from './compareMedia.ts';
import { ProblemList } from './problemList.ts';
import type { JobRow } from './readJobs.ts';
import type { LedgerRow } from './readLedger.ts';

const MODEL = MEDIA_MODELS.video.id;
const CHARGE = costOf(2, MODEL, MEDIA_MODELS);

const client: MediaRecord = {
  kind: 'video',
  prompt: 'a fox',
  units: 2,
  repeats: 0,
  outcome: 'ok',
  error: undefined,
  jobId: 'video_1',
  usage: { units: 2, spend: Number(CHARGE) / 1e9 },
  held: [{ sha256: 'hash', mark: 'mark' }],
  seen: ['queued', 'in_progress', 'completed'],
  startedAt: 0,
  endedAt: 1,
};
const job: JobRow = {
  jobId: 'video_1',
  callId: 'call',
  operation: 'videos',
  isHidden: false,
  state: 'completed',
  errorCode: null,
  attempts: 1,
  units: 2,
  charge: CHARGE,
  hold: CHARGE,
  outputs: 1,
  hashes: ['hash'],
  replica: 'media-1',
  backendId: 'r',
  inputs: 0,
  isSettled: true,
};
const row: LedgerRow = {
  callId: 'call',
  keyId: 'key',
  workspaceId: 'ws',
  modality: 'video',
  model: MODEL,
  canonicalModel: MODEL,
  priceVersion: 1,
  status: 'success',
  reason: 'completed',
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  units: 2,
  charge: CHARGE,
  hold: CHARGE,
  month: '2026-11',
  startedAtMs: 0,
  endedAtMs: 1,
};
const render: Render = {
  replica: 'media-1',
  model: MODEL,
  jobId: 'r',
  prompt: 'a fox',
  state: 'finished',
  units: { frames: 17, fps: 8 },
  marks: ['mark'],
  queuedAt: 0,
};
const failed = { state: 'failed', errorCode: 'backend_lost', units: 0, charge: 0n } as const;
const refused: MediaRecord = {
  ...client,
  kind: 'speech',
  outcome: '503',
  jobId: undefined,
  usage: undefined,
  held: [],
  seen: [],
};

const withFile = (file: Partial<HeldFile>): MediaRecord => ({
  ...client,
  held: [{ sha256: 'hash', mark: 'mark', ...file }],
});
const images: MediaRecord = {
  ...client,
  kind: 'image job',
  held: [
    { sha256: 'hash', mark: 'a' },
    { sha256: 'hash', mark: 'c' },
  ],
};
const imageOf = (mark: string): Render => ({
  ...render,
  model: MEDIA_MODELS.image.id,
  jobId: null,
  marks: [mark],
});

const SPEECH = MEDIA_MODELS.speech.id;
const SPEECH_CHARGE = costOf(2, SPEECH, MEDIA_MODELS);
const spoken: Case = {
  calls: [{ ...client, kind: 'speech', jobId: undefined, usage: undefined, held: [], seen: [] }],
  jobs: [],
  rows: [{ ...row, modality: 'audio', canonicalModel: SPEECH, charge: SPEECH_CHARGE }],
  renders: [{ ...render, model: SPEECH }],
};
const keptAnswer = { ...job, operation: 'audio.speech', isHidden: true, charge: SPEECH_CHARGE };

interface Case {
  calls: MediaRecord[];
  jobs: JobRow[];
  renders: Render[];
  rows: LedgerRow[];
}

/** A second client with a job and a render of its own, of the same words. */
const other = {
  call: { ...client, jobId: 'video_2', held: [{ sha256: 'hash 2', mark: 'mark 2' }] },
  job: { ...job, jobId: 'video_2', callId: 'call 2', hashes: ['hash 2'], backendId: 'r2' },
  row: { ...row, callId: 'call 2' },
  render: { ...render, jobId: 'r2', marks: ['mark 2'] },
};
const both: Case = {
  calls: [client, other.call],
  jobs: [job, other.job],
  rows: [row, other.row],
  renders: [render, other.render],
};

function compare(change: Partial<Case>): ReturnType<typeof compareMedia> & { problems: string[] } {
  const { rows, ...media }: Case = { calls: [client], jobs: [job], renders: [render], rows: [row], ...change };
  const problems = new ProblemList();
  const compared = compareMedia({ media: { ...media, models: MEDIA_MODELS }, rows }, problems);
  return { ...compared, problems: problems.toLines() };
}

it.each<[string, Partial<Case>]>([
  ['a job that was completed', {}],
  [
    'one that failed',
    {
      calls: [{ ...client, outcome: 'failed', usage: undefined, seen: ['queued', 'failed'] }],
      jobs: [{ ...job, ...failed }],
      rows: [{ ...row, status: 'failure', units: 0, charge: 0n }],
    },
  ],
  ['one of a client whose answer was lost', { calls: [{ ...client, outcome: 'broken', jobId: undefined }] }],
  ['images of which each was rendered twice', { calls: [images], renders: ['a', 'b', 'c', 'd'].map(imageOf) }],
  ['two clients that asked for the same', both],
  [
    'what a release made that marks nothing',
    { calls: [withFile({ mark: null })], renders: [{ ...render, marks: [] }] },
  ],
  ['a call that was refused', { calls: [refused], jobs: [], rows: [], renders: [] }],
  ['speech whose answer is not kept', spoken],
  ['speech whose answer is kept for retries', { ...spoken, jobs: [keptAnswer] }],
])('finds nothing wrong with %s', (_case, change) => {
  expect(compare(change)).toEqual({ lost: 0, doubled: 0, difference: 0n, problems: [] });
});

it.each<[string, Partial<Case>, Partial<ReturnType<typeof compareMedia>>]>([
  ['a job without a row', { jobs: [], rows: [] }, { lost: 1 }],
  ['a job that the ledger lacks', { rows: [] }, { lost: 1 }],
  ['audio that was refused and is charged', { calls: [refused], jobs: [], rows: [row, row] }, { difference: 0n }],
  ['a row too many', { rows: [row, { ...row, callId: 'other' }] }, { doubled: 1 }],
  [
    'a job that is charged and that no client has',
    { jobs: [job, { ...job, jobId: 'video_2', callId: 'other' }], rows: [row, { ...row, callId: 'other' }] },
    { doubled: 1 },
  ],
  ['two calls that have one job', { calls: [client, client], renders: [render, render] }, {}],
  ['a charge of the ledger’s own', { rows: [{ ...row, charge: CHARGE + 1n }] }, { difference: 1n }],
  ['a charge of the job’s own', { jobs: [{ ...job, charge: CHARGE - 1n }] }, { difference: 1n }],
  ['a charge for what failed', { jobs: [{ ...job, ...failed }] }, { difference: CHARGE }],
  ['units that were not measured', { jobs: [{ ...job, units: 1 }] }, {}],
  ['a job that goes on', { jobs: [{ ...job, state: 'running' }] }, {}],
  ['an end that was not settled', { jobs: [{ ...job, isSettled: false }] }, {}],
  ['uploads that stay', { jobs: [{ ...job, inputs: 1 }] }, {}],
  ['two ends', { calls: [{ ...client, seen: ['completed', 'failed'] }] }, {}],
  ['an end after which it went on', { calls: [{ ...client, seen: ['completed', 'in_progress'] }] }, {}],
  ['another cost than the client was told', { calls: [{ ...client, usage: { units: 2, spend: 1 } }] }, {}],
  ['what nobody rendered', { renders: [] }, {}],
  [
    'what was rendered three times',
    { renders: [render, { ...render, marks: ['2nd'] }, { ...render, marks: ['3rd'] }] },
    {},
  ],
  [
    'images that were rendered more than twice each',
    { calls: [images], renders: ['a', 'b', 'c', 'd', 'e'].map(imageOf) },
    {},
  ],
  ['speech that is kept, and has no row', { ...spoken, jobs: [keptAnswer], rows: [] }, { lost: 2 }],
  [
    'images that nobody got',
    { jobs: [job, { ...job, jobId: 'job_2', isHidden: true, operation: 'images.generations' }] },
    {},
  ],
])('finds %s', (_case, change, expected) => {
  const compared = compare(change);
  expect(compared).toMatchObject(expected);
  expect(compared.problems).not.toEqual([]);
});

it.each<[string, Partial<Case>, string]>([
  [
    'a clip that two clients hold',
    {
      ...both,
      calls: [client, { ...other.call, held: client.held }],
      jobs: [job, { ...other.job, hashes: job.hashes, backendId: job.backendId }],
    },
    'one render is held twice',
  ],
  ['two jobs that name one clip', { jobs: [job, { ...job, jobId: 'video_2' }] }, 'two jobs name one clip'],
  [
    'a clip of another job',
    { ...both, calls: [{ ...client, held: [{ sha256: 'hash', mark: 'mark 2' }] }] },
    'a client holds a render that its job does not name',
  ],
  [
    'an image of another replica',
    { calls: [{ ...images }], renders: ['a', 'c'].map((mark) => ({ ...imageOf(mark), replica: 'media-2' })) },
    'a client holds a render that its job does not name',
  ],
  [
    'an image that came twice',
    { calls: [{ ...images, held: [...client.held, ...client.held] }] },
    'one render is held twice',
  ],
  ['a clip of other words', { renders: [{ ...render, prompt: 'a wolf' }] }, 'a client holds what it did not ask for'],
  [
    'a clip of another length',
    { renders: [{ ...render, units: { frames: 9, fps: 8 } }] },
    'a client holds what it did not ask for',
  ],
  ['a clip that was never rendered', { calls: [withFile({ mark: 'other' })] }, 'a client holds what no render made'],
  ['a clip without a mark', { calls: [withFile({ mark: null })] }, 'a client holds what no render made'],
  [
    'other bytes than were stored',
    { calls: [withFile({ sha256: 'other' })] },
    'a client holds other bytes than its job has',
  ],
  ['renders alike', { renders: [render, { ...render, jobId: 'r2' }] }, 'two renders have one mark'],
])('finds in what clients hold %s', (_case, change, problem) => {
  expect(compare(change).problems.join()).toContain(problem);
});

it.each([
  [1, MEDIA_MODELS.image.id, 12_346n],
  [2, MEDIA_MODELS.image.id, 24_691n],
  [60, MEDIA_MODELS.transcript.id, 12_345n],
  [1, MEDIA_MODELS.transcript.id, 206n],
])('counts the cost of %i of %s: %i nano-dollars', (units, model, cost) => {
  expect(costOf(units, model, MEDIA_MODELS)).toBe(cost);
});
