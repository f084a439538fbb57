import { Readable } from 'node:stream';
import { MediaFault } from '../../media/mediaFault.ts';
import { createPrivateFile } from '../../media/privateFile.ts';
import { BackendFault, type Dialect, type Replica } from '../../terms/backend.ts';
import type { StoredOutput } from '../../terms/job.ts';
import {
  type ImageRequest,
  SPEECH_TYPES,
  type SpeechRequest,
  type TranscriptRequest,
} from '../../terms/mediaRequest.ts';
import { lacksTimes } from '../../terms/transcript.ts';
import type { JobDependencies } from '../dependencies.ts';
import { afterFault } from './afterFault.ts';
import { endJob } from './endJob.ts';
import type { HeldJob } from './heldJob.ts';
import { type MadeFile, storeFile } from './storeFile.ts';
import { type KeptRequest, toRequest, whereStoreIsUp } from './toRequest.ts';

/** A job at work on a replica. */
interface Rendering {
  held: HeldJob;
  replica: Replica;
  dialect: Dialect;
  dependencies: JobDependencies;
  /** The replica has given something in this attempt. */
  hasBegun: boolean;
}

/**
 * Renders a job on a replica while its worker waits: images, speech, a transcript. Each output is stored as it comes, and the job ends with
 * the last one. If the worker ends before, the job has another attempt.
 */
export async function renderJob(held: HeldJob, replica: Replica, dependencies: JobDependencies): Promise<void> {
  const dialect = dependencies.backends.dialectOf(replica);
  const rendering: Rendering = { held, replica, dialect, dependencies, hasBegun: false };
  try {
    const request = await whereStoreIsUp(toRequest(held.row, dependencies));
    await held.step('render');
    const outputs = await make(rendering, request);
    const units = held.row.operation === 'images.generations' ? outputs.length : held.row.unitsBound;
    await endJob(held, { name: 'complete', units, outputs }, dependencies);
  } catch (error) {
    if (held.signal.aborted) throw error;
    await afterFault(held, error, dependencies, rendering);
  }
}

async function make(rendering: Rendering, request: KeptRequest): Promise<StoredOutput[]> {
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

/** Requests one image after the other, so that only one is in memory. */
async function makeImages(rendering: Rendering, request: ImageRequest): Promise<StoredOutput[]> {
  const { held, replica, dialect, dependencies } = rendering;
  const { width, height } = request.size;
  if (!dialect.image) throw new BackendFault('misconfigured');
  const outputs: StoredOutput[] = [];
  for (let index = 0; index < request.n; index += 1) {
    const source = await dialect.image(replica, request, held.signal);
    rendering.hasBegun = true;
    const image = await dependencies.media.takeImage(source, request, held.signal);
    outputs.push(await keep(rendering, { ...image, width, height }, index));
    const progress = Math.floor((99 * outputs.length) / request.n);
    if (outputs.length < request.n) await held.step('advance', { progress });
  }
  return outputs;
}

async function makeSpeech(rendering: Rendering, request: SpeechRequest): Promise<StoredOutput> {
  const { held, replica, dialect, dependencies } = rendering;
  const { media } = dependencies;
  const { signal } = held;
  const { responseFormat: to } = request;
  if (!dialect.speech) throw new BackendFault('misconfigured');
  const { audio, format: from } = await dialect.speech(replica, request, signal);
  rendering.hasBegun = true;
  if (from !== to && from !== 'wav' && from !== 'pcm') throw new BackendFault('misconfigured');
  const converted = from === to ? audio : await media.convertSpeech(audio, { from: from as 'wav' | 'pcm', to, signal });
  return keep(rendering, await media.takeSpeech(converted, { format: to, type: SPEECH_TYPES[to], signal }), 0);
}

async function makeTranscript(rendering: Rendering, request: Omit<TranscriptRequest, 'file'>): Promise<StoredOutput> {
  const { held, replica, dialect, dependencies } = rendering;
  const [input] = held.row.inputs;
  if (!dialect.transcribe || !input) throw new BackendFault('misconfigured');
  const recording = await prepare(rendering, input.key);
  try {
    const { path, type, seconds } = recording;
    const file = { path, bytes: input.bytes, sha256: '', discard: async () => {} };
    const transcript = await dialect.transcribe(replica, { ...request, file }, { path, type, seconds }, held.signal);
    if (lacksTimes(transcript, request)) throw new MediaFault('invalid_output');
    const json = Buffer.from(JSON.stringify(transcript));
    const made = { type: 'application/json', seconds, read: () => Readable.from([json]) };
    return await storeFile(held, { made, index: 0 }, dependencies);
  } finally {
    await recording.discard();
  }
}

/** Converts an upload for engines. The upload was good when the job was made. */
async function prepare({ held, dependencies: { media, folder, store } }: Rendering, key: string) {
  const { workspaceId, keyId, unitsBound: maxSeconds } = held.row;
  const file = await createPrivateFile(folder);
  try {
    await whereStoreIsUp(store.get(key).then(({ content }) => file.fill(content, held.signal)));
    const options = { owner: { workspaceId, keyId }, isPatient: true, maxSeconds, signal: held.signal };
    return await media.prepareRecording(file, options);
  } finally {
    await file.discard();
  }
}

/** Stores a file, and removes it from this disk. */
async function keep({ held, dependencies }: Rendering, made: MadeFile, index: number): Promise<StoredOutput> {
  try {
    return await storeFile(held, { made, index }, dependencies);
  } finally {
    await made.discard();
  }
}
