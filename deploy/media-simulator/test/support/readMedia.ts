import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Counts of ffprobe from decoding the whole file. Rejects if ffprobe can read nothing. */
export interface Probed {
  format: string;
  frames: number;
  width: number | undefined;
  height: number | undefined;
  fps: string | undefined;
}

/** Decodes a clip and counts. */
export function probeClip(bytes: Buffer): Promise<Probed> {
  return inFile(bytes, async (file) => {
    const entries = 'format=format_name:stream=width,height,nb_read_frames,r_frame_rate';
    const args = ['-v', 'error', '-count_frames', '-show_entries', entries, '-of', 'json', file];
    const { stdout } = await run('ffprobe', args);
    const { format, streams } = JSON.parse(stdout) as {
      format: { format_name: string };
      streams: { width?: number; height?: number; nb_read_frames?: string; r_frame_rate?: string }[];
    };
    const [stream] = streams;
    return {
      format: format.format_name,
      frames: Number(stream?.nb_read_frames ?? 0),
      width: stream?.width,
      height: stream?.height,
      fps: stream?.r_frame_rate,
    };
  });
}

/** The seconds that an audio file has when it is decoded. */
export function decodeSeconds(bytes: Buffer, inputArgs: readonly string[] = []): Promise<number> {
  return inFile(bytes, async (file) => {
    const output = ['-f', 's16le', '-ac', '1', '-ar', '24000', '-'];
    const options = { encoding: 'buffer', maxBuffer: 2 ** 28 } as const;
    const { stdout } = await run('ffmpeg', ['-v', 'error', ...inputArgs, '-i', file, ...output], options);
    return stdout.length / 2 / 24_000;
  });
}

async function inFile<T>(bytes: Buffer, read: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-probe-'));
  const file = join(folder, 'media');
  try {
    await writeFile(file, bytes);
    return await read(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const toBuffer = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());
