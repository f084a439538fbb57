import { readdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aPng } from '@turnpike/test-support/anImage';
import sharp from 'sharp';
import { aTestFolder, type TestFolder } from '../../test/support/testFolder.ts';
import type { TakenFile } from './privateFile.ts';
import { type AskedImage, takeImage } from './takeImage.ts';
import { createWorkPool } from './workPool.ts';

const pool = createWorkPool({ slots: 1, maxWaiting: 0, maxWaitMs: 60_000 });
const size = { width: 64, height: 48 };
let work: TestFolder;

beforeAll(async () => {
  work = await aTestFolder();
});
afterAll(async () => {
  expect(await readdir(work.path)).toEqual([]);
  await work.remove();
});

function take(bytes: Buffer, asked: Partial<AskedImage> = {}): Promise<TakenFile> {
  const source = Readable.from([bytes], { objectMode: false });
  const options = { folder: work.path, pool, signal: AbortSignal.timeout(30_000) };
  return takeImage(source, { size, outputFormat: 'png', ...asked }, options);
}

const draw = () =>
  sharp({ create: { ...size, channels: 3, background: 'red', noise: { type: 'gaussian', sigma: 40 } } });

async function bytesOf(file: TakenFile): Promise<Buffer> {
  const bytes = await buffer(file.read());
  await file.discard();
  return bytes;
}

describe('an image', () => {
  it.each(['png', 'jpeg', 'webp'] as const)('becomes a %s', async (outputFormat) => {
    const image = await take(await draw().png().toBuffer(), { outputFormat });
    expect(image.type).toBe(`image/${outputFormat}`);
    const bytes = await bytesOf(image);
    expect(bytes.length).toBe(image.bytes);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: outputFormat, ...size });
  });

  it('keeps every pixel as PNG', async () => {
    const bytes = await draw().png().toBuffer();
    const pixels = (image: Buffer) => sharp(image).raw().toBuffer();
    expect((await pixels(bytes)).equals(await pixels(await bytesOf(await take(bytes))))).toBe(true);
  });

  it.each(['jpeg', 'webp'] as const)('is smaller as %s with more compression', async (outputFormat) => {
    const bytes = await draw().png().toBuffer();
    const bytesAt = async (outputCompression: number) =>
      (await bytesOf(await take(bytes, { outputFormat, outputCompression }))).length;
    expect(await bytesAt(10)).toBeLessThan((await bytesAt(90)) / 2);
    await expect(bytesAt(0)).resolves.toBeGreaterThan(0);
  });

  it('loses everything that was written beside it', async () => {
    const exif = { IFD0: { ImageDescription: 'CANARY' } };
    const bytes = await draw()
      .withExif(exif)
      .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/">CANARY</x:xmpmeta>')
      .png()
      .toBuffer();
    expect(bytes.includes('CANARY')).toBe(true);
    for (const outputFormat of ['png', 'jpeg', 'webp'] as const) {
      expect((await bytesOf(await take(bytes, { outputFormat }))).includes('CANARY')).toBe(false);
    }
  });
});

describe('what is no image', () => {
  const invalid = { name: 'MediaFault', kind: 'invalid_output' };

  it.each<[string, () => Promise<Buffer> | Buffer]>([
    ['nothing', () => Buffer.alloc(0)],
    ['a page', () => Buffer.from('<html><body>Bad Gateway</body></html>')],
    [
      'a drawing that names other files',
      () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48"/>'),
    ],
    ['an image of another kind', () => draw().gif().toBuffer()],
    ['an image of another size', () => draw().resize(32, 48).png().toBuffer()],
    ['an image cut off in the middle', async () => (await draw().png().toBuffer()).subarray(0, 3_000)],
    ['an image that says it is larger than it is', () => aPng(size)],
    ['an image of a billion pixels', () => aPng({ width: 30_000, height: 40_000 })],
  ])('is refused: %s', async (_case, make) => {
    await expect(take(await make())).rejects.toMatchObject(invalid);
  });
});
