import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aTestFolder, aTone, type TestFolder } from '../../test/support/testFolder.ts';
import { type Clip, takeClip } from './takeClip.ts';
import { createWorkPool } from './workPool.ts';

const pool = createWorkPool({ slots: 1, maxWaiting: 0, maxWaitMs: 60_000 });
const picture = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=24', '-frames:v', '49'];
const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];
let files: TestFolder;
let work: TestFolder;

beforeAll(async () => {
  [files, work] = [await aTestFolder(), await aTestFolder()];
});
afterAll(async () => {
  expect(await readdir(work.path)).toEqual([]);
  await files.remove();
  await work.remove();
});

const take = (source: Readable, signal = AbortSignal.timeout(60_000)): Promise<Clip> =>
  takeClip(source, { folder: work.path, pool, signal });
const takeBytes = (bytes: Buffer): Promise<Clip> => take(Readable.from([bytes], { objectMode: false }));

async function bytesOf(clip: Clip): Promise<Buffer> {
  const bytes = await buffer(clip.read());
  await clip.discard();
  return bytes;
}

describe('a clip', () => {
  it('is counted by decoding, and gets its index first', async () => {
    const path = await files.make('clip.mp4', [...picture, ...h264]);
    const clip = await take(createReadStream(path));
    expect(clip).toMatchObject({ type: 'video/mp4', frames: 49, width: 64, height: 48 });
    expect(clip.seconds).toBeCloseTo(49 / 24, 4);
    const bytes = await bytesOf(clip);
    expect(bytes.length).toBe(clip.bytes);
    expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'));
    const before = await readFile(path);
    expect(before.indexOf('moov')).toBeGreaterThan(before.indexOf('mdat'));
  });

  it('keeps its sound', async () => {
    const path = await files.make('sound.mp4', [...aTone(2), ...picture, ...h264, '-c:a', 'aac']);
    const made = await files.write('taken.mp4', await bytesOf(await take(createReadStream(path))));
    const args = ['-v', 'error', '-show_entries', 'stream=codec_name', '-of', 'csv=p=0', made];
    expect((await promisify(execFile)('ffprobe', args)).stdout.trim().split('\n').sort()).toEqual(['aac', 'h264']);
  });

  it('loses everything that was written beside it', async () => {
    const metadata = [
      '-metadata',
      'comment=CANARY',
      '-metadata',
      'title=CANARY',
      '-metadata:s:v',
      'handler_name=CANARY',
    ];
    const chapters = ';FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1\nSTART=0\nEND=1\ntitle=CANARY\n';
    const notes = ['-i', await files.write('chapters.txt', chapters), '-map', '0', '-map_chapters', '1'];
    const path = await files.make('talkative.mp4', [
      ...picture.slice(0, 4),
      ...notes,
      ...metadata,
      '-frames:v',
      '49',
      ...h264,
    ]);
    const box = Buffer.from('\0\0\0\x10freeCANARY!!', 'latin1');
    const before = Buffer.concat([await readFile(path), box]);
    expect(before.toString('latin1').split('CANARY').length).toBeGreaterThan(4);
    expect((await bytesOf(await takeBytes(before))).includes('CANARY')).toBe(false);
  });
});

describe('what is no clip', () => {
  const invalid = { name: 'MediaFault', kind: 'invalid_output' };

  it.each([
    ['nothing', ''],
    ['a page', '<html><body>Bad Gateway</body></html>'],
    ['a picture', 'GIF89a\x01\0\x01\0'],
    ['a playlist', '#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n'],
    ['a container with nothing in it', '\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x08moov'],
  ])('is refused: %s', async (_case, text) => {
    await expect(takeBytes(Buffer.from(text, 'latin1'))).rejects.toMatchObject(invalid);
  });

  it.each([
    ['without its index', []],
    ['behind its index', ['-movflags', '+faststart']],
  ])('is refused: a clip cut off in the middle, %s', async (_case, args) => {
    const bytes = await readFile(await files.make('whole.mp4', [...picture, ...h264, ...args]));
    await expect(takeBytes(bytes.subarray(0, bytes.length / 2))).rejects.toMatchObject(invalid);
  });

  it('is refused: sound without pictures', async () => {
    const path = await files.make('sound.m4a', aTone(1));
    await expect(take(createReadStream(path))).rejects.toMatchObject(invalid);
  });

  it('is refused: another container', async () => {
    const path = await files.make('clip.avi', picture);
    await expect(take(createReadStream(path))).rejects.toMatchObject(invalid);
  });

  it('fails as its source does', async () => {
    const broken = new Error('broke off');
    async function* read(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(10);
      throw broken;
    }
    await expect(take(Readable.from(read(), { objectMode: false }))).rejects.toBe(broken);
  });

  it('is given up with its signal, and its source with it', async () => {
    const left = new AbortController();
    const source = new Readable({ read() {} });
    const taking = take(source, left.signal);
    left.abort(new Error('cancelled'));
    await expect(taking).rejects.toThrow('cancelled');
    expect(source.destroyed).toBe(true);
  });
});
