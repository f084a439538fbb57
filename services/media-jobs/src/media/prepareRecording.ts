import { open } from 'node:fs/promises';
import type { Upload } from '../terms/mediaRequest.ts';
import { DECODER_MEMORY_BYTES } from './decoderCapacity.ts';
import { readFlacSamples } from './flacSamples.ts';
import { MediaFault } from './mediaFault.ts';
import { createPrivateFile, type PrivateFile } from './privateFile.ts';
import { FILE_1, FILE_2, runTool, type ToolEnd, type ToolLimits, type ToolRun } from './runTool.ts';
import { SNIFFED_BYTES, type SoundKind, sniffSound } from './sniffSound.ts';
import { hasHonestLength } from './wavChunks.ts';

/** A client's recording in the form for engines: one channel of 16 kHz. */
export interface Recording {
  /** Path by which this process can open the file. */
  path: string;
  type: 'audio/flac' | 'audio/ogg';
  bytes: number;
  /** Decoded duration, to the millisecond: the length of the file at `path`, whatever the client's file states. */
  seconds: number;
  discard(): Promise<void>;
}

export interface RecordingOptions {
  folder: string;
  maxSeconds: number;
  signal: AbortSignal;
  /** Called with the CPU time of each run of a tool, in milliseconds, after success or failure. */
  onWork?: ((processorMs: number) => void) | undefined;
}

const RATE = 16_000;
/** Most bytes of a recording for an engine, below vLLM's 25 MiB. */
const MAX_ENGINE_BYTES = 24 * 1024 ** 2;
/** Upper bound for FLAC of 16 bits, apart from its header. */
const BYTES_PER_SECOND = RATE * 2;
const HEADER_BYTES = 64 * 1024;
/** Speech is understandable at 12 kbit/s, and above 32 kbit/s the difference is inaudible. */
const OPUS_BITRATES = { least: 12_000, most: 32_000 };
/** Share of the engine's limit for sound: the rest is for the container. */
const OPUS_SHARE = 0.9;
/** Most channels and sample rate of speech. A FLAC frame of some 40 bytes can hold 65,535 samples of eight channels. */
const MOST = { channels: 8, rate: 192_000 };
/** CPU time limit: ten times the need of the most expensive honest recording. A run above it is ended. */
const PACE = { floorMs: 1_500, msPerSecond: 50 };
const WALL_MS = 300_000;

/** Returns the limits of a run that decodes at most so many seconds. */
const limitsFor = (maxSeconds: number): ToolLimits => ({
  wallMs: WALL_MS,
  cpuSeconds: Math.ceil((PACE.floorMs + maxSeconds * PACE.msPerSecond) / 1_000),
  memoryBytes: DECODER_MEMORY_BYTES,
  pace: PACE,
});

/** Decoders of the audio formats for speech. A file that needs another one is refused before a decoder runs. */
const DECODERS = [
  ...['flac', 'mp3float', 'mp3', 'mp2float', 'mp2', 'mp1float', 'mp1', 'aac', 'opus', 'libopus', 'vorbis', 'alac'],
  ...['pcm_s16le', 'pcm_s16be', 'pcm_s24le', 'pcm_s24be', 'pcm_s32le', 'pcm_u8', 'pcm_s8', 'pcm_f32le', 'pcm_f64le'],
  ...['pcm_alaw', 'pcm_mulaw', 'adpcm_ms', 'adpcm_ima_wav', 'gsm_ms'],
].join(',');

/**
 * Converts an upload to the form for engines, and measures it. Throws `invalid_input` if it is no audio of a known
 * kind, and `too_long` above `maxSeconds`. Throws `too_dense` for more channels or a higher rate than speech has. The
 * returned file has to be discarded.
 */
export async function prepareRecording(
  { path }: Pick<Upload, 'path'>,
  { folder, maxSeconds, signal, onWork }: RecordingOptions,
): Promise<Recording> {
  const upload = await open(path, 'r');
  const made: PrivateFile[] = [];
  const newFile = async (): Promise<PrivateFile> => {
    const file = await createPrivateFile(folder);
    made.push(file);
    return file;
  };
  let kept: PrivateFile | undefined;
  try {
    const flac = await newFile();
    const source = await sourceArgs(upload);
    const run = { limits: limitsFor(maxSeconds), signal, onEnd: onWork };
    const decode = async (args: readonly string[]): Promise<void> =>
      throwUnlessOk(
        await runTool({ ...run, tool: 'ffmpeg', args: [...source, ...SOUND, ...args], files: [upload, flac.handle] }),
      );
    await decode(FIRST_SAMPLE);
    await assertSpeech(flac.handle);
    const cut = ['-t', String(maxSeconds + 1), '-fs', String((maxSeconds + 2) * BYTES_PER_SECOND + HEADER_BYTES)];
    await decode([...MONO, ...cut, ...PROGRESS, '-c:a', 'flac', '-f', 'flac', FILE_2]);
    const samples = await readFlacSamples(flac.handle);
    if (samples === 0) throw new MediaFault('invalid_input');
    if (samples > maxSeconds * RATE + RATE / 1_000) throw new MediaFault('too_long');

    const seconds = Math.floor(samples / (RATE / 1_000)) / 1_000;
    const isSmall = (await flac.size()) <= MAX_ENGINE_BYTES;
    kept = isSmall ? flac : await toOpus(flac, { file: await newFile(), seconds, run });
    const { path: keptPath, discard } = kept;
    const type = isSmall ? 'audio/flac' : 'audio/ogg';
    return { path: keptPath, type, bytes: await kept.size(), seconds, discard };
  } finally {
    await upload.close();
    await Promise.all(made.map((file) => file !== kept && file.discard()));
  }
}

/**
 * Returns ffmpeg's input arguments with the file's kind, by its first bytes, so that ffmpeg does not guess the kind.
 */
async function sourceArgs(upload: PrivateFile['handle']): Promise<string[]> {
  const { buffer, bytesRead } = await upload.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0);
  const kind = sniffSound(buffer.subarray(0, bytesRead));
  if (!kind) throw new MediaFault('invalid_input');
  const isOpenEnded = kind === 'wav' && !(await hasHonestLength(upload, (await upload.stat()).size));
  if (kind === 'mov') return openArgs(kind, ONE_EDIT);
  return openArgs(kind, isOpenEnded ? ['-ignore_length', '1'] : []);
}

/**
 * Reads only the beginning of the audio from an edit list. A list that repeats its track makes hours of audio and an
 * index of gigabytes.
 */
const ONE_EDIT = ['-advanced_editlist', '0'];

const openArgs = (kind: SoundKind, furtherArgs: readonly string[] = []): string[] => [
  ...['-nostdin', '-protocol_whitelist', 'file,pipe', '-codec_whitelist', DECODERS, '-threads', '1'],
  ...[...furtherArgs, '-f', kind, '-i', FILE_1],
];

/** Selects the first audio track and nothing else of the file. */
const SOUND = [
  ...['-map', '0:a:0', '-vn', '-sn', '-dn', '-map_metadata', '-1', '-map_metadata:s', '-1', '-map_chapters', '-1'],
];
const MONO = ['-ac', '1', '-ar', String(RATE), '-sample_fmt', 's16'];
const PROGRESS = ['-progress', 'pipe:1', '-stats_period', '0.1'];
/** Decodes the first sample into a WAV, whose header then has the decoded channels and rate. */
const FIRST_SAMPLE = ['-af', 'atrim=end_sample=1', '-bitexact', '-c:a', 'pcm_s16le', '-f', 'wav', FILE_2];
const WAV_FORMAT = { bytes: 28, channelsAt: 22, rateAt: 24 };

async function assertSpeech(wav: PrivateFile['handle']): Promise<void> {
  const { buffer, bytesRead } = await wav.read(Buffer.alloc(WAV_FORMAT.bytes), 0, WAV_FORMAT.bytes, 0);
  if (bytesRead < WAV_FORMAT.bytes) throw new MediaFault('invalid_input');
  const channels = buffer.readUInt16LE(WAV_FORMAT.channelsAt);
  if (channels > MOST.channels || buffer.readUInt32LE(WAV_FORMAT.rateAt) > MOST.rate) throw new MediaFault('too_dense');
}

/**
 * Encodes Opus at a bit rate with which the recording fits the engines' limit. Throws `too_long` if that rate is too
 * low for speech.
 */
async function toOpus(
  flac: PrivateFile,
  { file, seconds, run }: { file: PrivateFile; seconds: number; run: Pick<ToolRun, 'limits' | 'signal' | 'onEnd'> },
): Promise<PrivateFile> {
  const fitting = Math.floor((MAX_ENGINE_BYTES * 8 * OPUS_SHARE) / seconds);
  if (fitting < OPUS_BITRATES.least) throw new MediaFault('too_long');
  const bitrate = Math.min(fitting, OPUS_BITRATES.most);
  const target = [...PROGRESS, '-c:a', 'libopus', '-b:a', String(bitrate), '-f', 'ogg', FILE_2];
  const args = [...openArgs('flac'), '-map', '0:a:0', ...target];
  throwUnlessOk(await runTool({ ...run, tool: 'ffmpeg', args, files: [flac.handle, file.handle] }));
  return file;
}

function throwUnlessOk({ outcome }: ToolEnd): void {
  if (outcome === 'ok') return;
  throw new MediaFault(outcome === 'too_slow' ? 'overloaded' : 'invalid_input', { cause: new Error(outcome) });
}
