import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runFfmpeg } from './runFfmpeg.ts';

export interface ClipShape {
  width: number;
  height: number;
  frames: number;
  fps: number;
  container: 'mp4' | 'avi';
}

/** Clips of this machine, one of each shape. */
const CACHE = join(tmpdir(), 'turnpike-media-simulator');
const encoding = new Map<string, Promise<Buffer>>();

/**
 * A clip of exactly so many frames. The picture is the same for all of a shape; what makes each clip its own is a mark of
 * `key` behind it, which players skip. The index of an MP4 stands at the end, as engines write it.
 */
export async function encodeClip(key: string, shape: ClipShape): Promise<Buffer> {
  const { width, height, frames, fps, container } = shape;
  const name = `${width}x${height}-${frames}-${fps}.${container}`;
  let clip = encoding.get(name);
  if (!clip) {
    clip = encodeOnce(name, shape);
    encoding.set(name, clip);
    clip.catch(() => encoding.delete(name));
  }
  const mark = createHash('sha256').update(key).digest();
  return Buffer.concat([await clip, container === 'mp4' ? toMp4Box('free', mark) : toRiffChunk('JUNK', mark)]);
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

async function encodeOnce(name: string, { width, height, frames, fps, container }: ClipShape): Promise<Buffer> {
  await mkdir(CACHE, { recursive: true });
  const file = join(CACHE, name);
  const known = await readFile(file).catch(() => undefined);
  if (known) return known;
  // Elsewhere first, as another process may make the same.
  const folder = await mkdtemp(join(CACHE, 'partial-'));
  const partial = join(folder, name);
  const source = `testsrc=size=${width}x${height}:rate=${fps}`;
  const codec = container === 'mp4' ? ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'] : [];
  await runFfmpeg(['-f', 'lavfi', '-i', source, '-frames:v', String(frames), '-threads', '1', ...codec, partial]);
  await rename(partial, file);
  await rm(folder, { recursive: true });
  return readFile(file);
}
