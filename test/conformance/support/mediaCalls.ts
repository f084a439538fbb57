import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import type { MediaJob } from '@turnpike/public-api/mediaJob';
import type { Video } from '@turnpike/public-api/video';
import { until } from '@turnpike/test-support/until';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { listRenders } from '../../support/mediaBackends.ts';
import type { NewKey, NewWorkspace } from '../../support/operator.ts';
import { type Answer, type Client, createClient } from './http.ts';
import { redis, stack } from './mediaStack.ts';
import { MODELS, SIZE } from './writeMediaCatalog.ts';

/** One that no other call has, so that what it made is found in the backends' logs. */
export const aPrompt = (): string => `a cat on a roof, ${randomUUID()}`;

export const anImage = (fields: object = {}) => ({ model: MODELS.image, prompt: aPrompt(), size: SIZE, ...fields });
export const aVideo = (fields: object = {}) => ({ model: MODELS.video, prompt: aPrompt(), seconds: '1', ...fields });
export const aSpeech = (fields: object = {}) => ({
  model: MODELS.speech,
  input: 'bells ring',
  voice: 'ada',
  response_format: 'wav',
  ...fields,
});

/** A WAV of silence. */
export function aWav({ seconds = 1, rate = 16_000 } = {}): Buffer {
  const data = Buffer.alloc(Math.round(seconds * rate) * 2);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + data.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}

/** A form with its file in the middle, as clients may send it. */
export function aRecording(fields: Record<string, string> = {}, file = aWav()): FormData {
  const form = new FormData();
  form.append('model', MODELS.transcript);
  form.append('file', new Blob([new Uint8Array(file)], { type: 'audio/wav' }), 'speech.wav');
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}

/** Somebody new, with a key that nobody else uses. */
export interface Caller extends Client {
  account: Account;
}

export async function aCaller(key: NewKey = {}, workspace: NewWorkspace = { creditUsd: '10' }): Promise<Caller> {
  const account = await makeAccount(stack, { ...key, workspaceId: await stack.operator.makeWorkspace(workspace) });
  return { account, ...createClient(stack.baseUrl, account.apiKey) };
}

export type Job = MediaJob | Video;
export const jobOf = ({ body }: Answer): Job => body as Job;

/** Returns the path of a job. */
export const pathOf = ({ id, object }: Job): string =>
  object === 'video' ? `/videos/${id}` : object === 'image.job' ? `/images/jobs/${id}` : `/audio/jobs/${id}`;

/** The job once it has ended, by asking as clients do that would rather wait. */
export const untilEnded = (caller: Client, job: Job): Promise<Job> =>
  until(`the end of ${job.id}`, async () => {
    const answer = await caller.get(pathOf(job), { headers: { prefer: 'wait=10' } });
    expect(answer.status).toBe(200);
    const seen = jobOf(answer);
    return seen.status === 'completed' || seen.status === 'failed' ? seen : undefined;
  });

/** Makes a job and waits for it to be completed. */
export async function made(caller: Client, path: string, body: object): Promise<Job> {
  const answer = await caller.post(path, body);
  expect(answer.status).toBe(path === '/videos' ? 200 : 202);
  const job = await untilEnded(caller, jobOf(answer));
  expect(job).toMatchObject({ status: 'completed', error: null });
  return job;
}

/** Renders that were ordered while something was done, of which nothing else is to be done meanwhile. */
export async function rendersDuring(act: () => Promise<void>): Promise<number> {
  const before = await listRenders(stack);
  await act();
  return (await listRenders(stack)).length - before.length;
}

/** Asserts what a key has spent, once it is told, and that nothing is held any more. */
export async function expectSpent({ account }: Caller, nanoUsd: bigint): Promise<void> {
  await until(`a spend of ${nanoUsd} nano-dollars`, async () =>
    (await account.findSpend()) === nanoUsd ? true : undefined,
  );
  await until('nothing to be held', async () => (await heldOf(account)) === 0n);
}

/** Returns the held part of a workspace's credit, in nano-dollars. */
export const heldOf = async ({ workspaceId }: Account): Promise<bigint> =>
  BigInt((await redis.hget(`{${workspaceId}}:wallet`, 'held')) ?? 0);
