import { Prisma } from '../../generated/client.ts';
import { BackendFault, type Dialect, type Replica } from '../../terms/backend.ts';
import type { StoredOutput } from '../../terms/job.ts';
import type { ImageRequest, SpeechRequest, TranscriptRequest } from '../../terms/mediaRequest.ts';
import { afterFault } from './afterFault.ts';
import { complete } from './complete.ts';
import type { HeldJob } from './heldJob.ts';
import type { House } from './house.ts';
import { isStoreDown, storeFile } from './storeFile.ts';
import { toRequest } from './toRequest.ts';
import type { MadeFile } from './workshop.ts';

/** A job at work, with who renders it. */
interface Rendering {
  held: HeldJob;
  replica: Replica;
  dialect: Dialect;
  house: House;
  /** The replica has given something in this attempt. */
  hasBegun: boolean;
}

/**
 * Has a replica render a job while its worker waits: images, speech, a transcript. What was made is stored as it comes, and the job ends
 * with its last output. Such a render dies with its worker, and is another attempt's then.
 */
export async function renderJob(held: HeldJob, replica: Replica, house: House): Promise<void> {
  const rendering: Rendering = { held, replica, dialect: house.backends.dialectOf(replica), house, hasBegun: false };
  try {
    // Before anybody is asked: a store that is down costs no attempt.
    const request = await toRequest(held.row, house).catch((error: unknown) => {
      throw isStoreDown(error) ? new BackendFault('busy', { cause: error }) : error;
    });
    await held.step(Prisma.sql`state = 'running'`);
    const outputs = await make(rendering, request);
    const units = held.row.operation === 'images.generations' ? outputs.length : held.row.unitsBound;
    await complete(held, { units, outputs }, house);
  } catch (error) {
    if (held.signal.aborted) throw error;
    await afterFault(held, error, house, rendering);
  }
}

async function make(rendering: Rendering, request: Awaited<ReturnType<typeof toRequest>>): Promise<StoredOutput[]> {
  switch (request.operation) {
    case 'images.generations':
      return makeImages(rendering, request);
    case 'audio.speech':
      return [await makeSpeech(rendering, request)];
    case 'audio.transcriptions':
    case 'audio.translations':
      return [await makeTranscript(rendering, request)];
    case 'videos':
      throw new Error('a video is not waited for');
  }
}

/** One after the other, so that one is in memory at a time. */
async function makeImages(rendering: Rendering, request: ImageRequest): Promise<StoredOutput[]> {
  const { held, replica, dialect, house } = rendering;
  if (!dialect.image) throw new BackendFault('misconfigured');
  const outputs: StoredOutput[] = [];
  for (let index = 0; index < request.n; index += 1) {
    const source = await dialect.image(replica, request, held.signal);
    rendering.hasBegun = true;
    const made = await house.workshop.image(source, request, held.signal);
    outputs.push(await keep(rendering, made, index));
    const progress = Math.floor((99 * outputs.length) / request.n);
    if (outputs.length < request.n) await held.step(Prisma.sql`progress = ${progress}`);
  }
  return outputs;
}

async function makeSpeech(rendering: Rendering, request: SpeechRequest): Promise<StoredOutput> {
  const { held, replica, dialect, house } = rendering;
  if (!dialect.speech) throw new BackendFault('misconfigured');
  const { audio, format } = await dialect.speech(replica, request, held.signal);
  rendering.hasBegun = true;
  return keep(rendering, await house.workshop.speech(audio, format, request, held.signal), 0);
}

async function makeTranscript(rendering: Rendering, request: Omit<TranscriptRequest, 'file'>): Promise<StoredOutput> {
  const { held, replica, dialect, house } = rendering;
  const [input] = held.row.inputs;
  if (!dialect.transcribe || !input) throw new BackendFault('misconfigured');
  const { content } = await house.store.get(input.key);
  const heard = await house.workshop.recording(content, held.row, held.signal);
  try {
    const { path, type, seconds } = heard;
    const file = { path, bytes: input.bytes, sha256: '', discard: async () => {} };
    const transcript = await dialect.transcribe(replica, { ...request, file }, { path, type, seconds }, held.signal);
    const made = { ...house.workshop.transcript(transcript, request), seconds };
    return await storeFile(held, { made, index: 0 }, house);
  } finally {
    await heard.discard();
  }
}

/** Stores a file, and removes it from this disk. */
async function keep({ held, house }: Rendering, made: MadeFile, index: number): Promise<StoredOutput> {
  try {
    return await storeFile(held, { made, index }, house);
  } finally {
    await made.discard();
  }
}
