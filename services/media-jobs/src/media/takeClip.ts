import type { Readable } from 'node:stream';
import { z } from 'zod';
import { DECODER_MEMORY_BYTES } from './decoderCapacity.ts';
import { MediaFault } from './mediaFault.ts';
import { createPrivateFile, type PrivateFile, type TakenFile, toTakenFile } from './privateFile.ts';
import { FILE_1, FILE_2, readProgress, runTool, type ToolRun } from './runTool.ts';
import type { WorkPool } from './workPool.ts';

/** A clip that was decoded from its first frame to its last. */
export interface Clip extends TakenFile {
  /** Decoded duration. */
  seconds: number;
  frames: number;
  width: number;
  height: number;
}

const LIMITS = { wallMs: 300_000, cpuSeconds: 240, memoryBytes: DECODER_MEMORY_BYTES };
const CODECS = ['h264', 'hevc', 'av1', 'vp9'];
const DECODERS = [...CODECS, 'libdav1d', 'libvpx-vp9', 'aac', 'mp3', 'mp3float', 'flac', 'opus', 'libopus'].join(',');
const OPEN = ['-protocol_whitelist', 'file,pipe', '-codec_whitelist', DECODERS, '-f', 'mov', '-threads', '1'];

/**
 * Reads a clip to its end, decodes it, and writes the file that clients get. The file has the same streams without
 * re-encoding, the index first, and no metadata. Throws `invalid_output` if the clip is no MP4 that plays to its end.
 */
export async function takeClip(
  source: Readable,
  { folder, pool, signal }: { folder: string; pool: WorkPool; signal: AbortSignal },
): Promise<Clip> {
  const came = await createPrivateFile(folder);
  try {
    await came.fill(source, signal);
    return await pool.run(() => convert(came, { folder, signal }), { signal });
  } finally {
    await came.discard();
  }
}

async function convert(came: PrivateFile, { folder, signal }: { folder: string; signal: AbortSignal }): Promise<Clip> {
  const run = (tool: ToolRun['tool'], args: readonly string[], further: readonly PrivateFile[] = []) =>
    runWell({ tool, args, files: [came, ...further].map(({ handle }) => handle), limits: LIMITS, signal });
  const header = readHeader(await run('ffprobe', probeArgs));
  const { frames, seconds } = readProgress(await run('ffmpeg', decodeArgs));
  // A clip with fewer frames than its index names was cut off.
  if (frames === 0 || frames < header.frames) throw new MediaFault('invalid_output');

  const clip = await createPrivateFile(folder);
  try {
    await run('ffmpeg', remuxArgs, [clip]);
    return { ...(await toTakenFile(clip, 'video/mp4')), seconds, frames, width: header.width, height: header.height };
  } catch (error) {
    await clip.discard();
    throw error;
  }
}

const probeArgs = [
  ...OPEN,
  ...['-select_streams', 'v:0', '-show_entries', 'stream=codec_name,width,height,nb_frames', '-of', 'json', FILE_1],
];
const decodeArgs = [
  ...['-nostdin', ...OPEN, '-i', FILE_1, '-map', '0:v:0', '-an', '-sn', '-dn', '-fps_mode', 'passthrough'],
  ...['-progress', 'pipe:1', '-f', 'null', '-'],
];
const remuxArgs = [
  ...['-nostdin', ...OPEN, '-i', FILE_1, '-map', '0:v:0', '-map', '0:a:0?', '-sn', '-dn', '-c', 'copy'],
  ...['-map_metadata', '-1', '-map_metadata:s', '-1', '-map_chapters', '-1', '-movflags', '+faststart'],
  ...['-f', 'mp4', FILE_2],
];

const headerSchema = z.object({
  streams: z.tuple([
    z.object({
      codec_name: z.enum(CODECS),
      width: z.int().positive(),
      height: z.int().positive(),
      /** 0 if the index has no count. */
      nb_frames: z.coerce.number().int().nonnegative().catch(0).default(0),
    }),
  ]),
});

function readHeader(text: string): { width: number; height: number; frames: number } {
  const { success, data } = headerSchema.safeParse(JSON.parse(text));
  if (!success) throw new MediaFault('invalid_output');
  const [{ width, height, nb_frames: frames }] = data.streams;
  return { width, height, frames };
}

async function runWell(run: ToolRun): Promise<string> {
  const { outcome, output } = await runTool(run);
  if (outcome === 'ok') return output;
  throw new MediaFault(outcome === 'too_slow' ? 'overloaded' : 'invalid_output', { cause: new Error(outcome) });
}
