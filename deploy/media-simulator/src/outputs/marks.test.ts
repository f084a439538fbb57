import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import sharp from 'sharp';
import { encodeClip } from './encodeClip.ts';
import { drawImage, markOf, readMark } from './marks.ts';
import { runFfmpeg } from './runFfmpeg.ts';

it.each(['png', 'jpeg', 'webp'] as const)(
  'an image as %s has the mark of its key, also with some loss',
  async (format) => {
    for (const key of ['a', 'b']) {
      const image = await drawImage(key, 256, 160, format);
      expect(await readMark(image)).toBe(markOf(key));
      expect(await readMark(await sharp(image).jpeg({ quality: 50 }).toBuffer())).toBe(markOf(key));
      expect(await readMark(await sharp(image).webp({ quality: 50 }).toBuffer())).toBe(markOf(key));
    }
  },
);

it('a clip has the mark of its key, also in another file without its metadata', async () => {
  const clip = await encodeClip('a', { width: 160, height: 96, frames: 9, fps: 8 });
  expect(await readMark(clip)).toBe(markOf('a'));
  const folder = await mkdtemp(join(tmpdir(), 'marks-'));
  try {
    const [from, to] = [join(folder, 'from.mp4'), join(folder, 'to.mp4')];
    await writeFile(from, clip);
    await runFfmpeg(['-i', from, '-c', 'copy', '-map_metadata', '-1', '-movflags', '+faststart', to]);
    expect(await readMark(await readFile(to))).toBe(markOf('a'));
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('what is no image and no clip of ours has none', async () => {
  expect(await readMark(Buffer.from('a page'))).toBeUndefined();
});

it.each(['white', 'black'])('finds no mark in an image that is all %s', async (background) => {
  const image = sharp({ create: { width: 64, height: 64, channels: 3, background } });
  expect(await readMark(await image.png().toBuffer())).toBeUndefined();
});
