import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLIP_MARK_NAME, markOf, NO_MARK } from './marks.ts';
import { runFfmpeg } from './runFfmpeg.ts';

export interface ClipShape {
  width: number;
  height: number;
  frames: number;
  fps: number;
}

/** Clips of this machine, one of each shape. */
const CACHE = join(tmpdir(), 'turnpike-media-simulator');
const encoding = new Map<string, Promise<Buffer>>();

/**
 * Encodes a video of exactly `frames` frames. All videos of a shape have the same picture. The mark of `key` in the first frame makes
 * each video unique. Decoders ignore the mark, and it survives until the video is encoded again.
 * The index is at the end, as engines write it.
 */
export async function encodeClip(key: string, shape: ClipShape): Promise<Buffer> {
  const { width, height, frames, fps } = shape;
  const name = `marked-${width}x${height}-${frames}-${fps}.mp4`;
  let clip = encoding.get(name);
  if (!clip) {
    clip = encodeOnce(name, shape);
    encoding.set(name, clip);
    clip.catch(() => encoding.delete(name));
  }
  const marked = Buffer.from(await clip);
  marked.write(markOf(key), marked.indexOf(CLIP_MARK_NAME + NO_MARK, 0, 'latin1') + CLIP_MARK_NAME.length, 'latin1');
  return marked;
}

export function toMp4Box(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length + 8);
  return Buffer.concat([length, Buffer.from(type, 'latin1'), content]);
}

export function toRiffChunk(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(content.length);
  return Buffer.concat([Buffer.from(type, 'latin1'), length, content]);
}

async function encodeOnce(name: string, { width, height, frames, fps }: ClipShape): Promise<Buffer> {
  await mkdir(CACHE, { recursive: true });
  const file = join(CACHE, name);
  const known = await readFile(file).catch(() => undefined);
  if (known) return known;
  // Elsewhere first, as another process may make the same.
  const folder = await mkdtemp(join(CACHE, 'partial-'));
  const partial = join(folder, name);
  const source = `testsrc=size=${width}x${height}:rate=${fps}`;
  const mark = `h264_metadata=sei_user_data=${Buffer.from(CLIP_MARK_NAME, 'latin1').toString('hex')}+${NO_MARK}`;
  const codec = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-bsf:v', mark];
  await runFfmpeg(['-f', 'lavfi', '-i', source, '-frames:v', String(frames), '-threads', '1', ...codec, partial]);
  await rename(partial, file);
  await rm(folder, { recursive: true });
  return readFile(file);
}
