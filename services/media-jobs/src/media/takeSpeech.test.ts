import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aTestFolder, aTone, type TestFolder } from '../../test/support/testFolder.ts';
import type { SpeechFormat } from '../terms/mediaRequest.ts';
import { type Speech, takeSpeech } from './takeSpeech.ts';
import { createWorkPool } from './workPool.ts';

const pool = createWorkPool({ slots: 1, maxWaiting: 0, maxWaitMs: 60_000 });
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

const take = (source: Readable, format: SpeechFormat): Promise<Speech> =>
  takeSpeech(source, { format, type: 'audio/x', folder: work.path, pool, signal: AbortSignal.timeout(60_000) });
const takeBytes = (bytes: Buffer, format: SpeechFormat) => take(Readable.from([bytes], { objectMode: false }), format);

describe('speech', () => {
  it.each([
    ['mp3', []],
    ['opus', ['-c:a', 'libopus', '-f', 'ogg']],
    ['aac', ['-f', 'adts']],
    ['flac', []],
    ['wav', []],
    ['pcm', ['-f', 's16le', '-ar', '24000', '-ac', '1']],
  ] as const)('in %s is measured, and stays what it is', async (format, args) => {
    const path = await files.make(`speech.${format}`, [...aTone(2, 24_000), ...args]);
    const speech = await take(createReadStream(path), format);
    expect(Math.abs(speech.seconds - 2)).toBeLessThan(0.1);
    expect(speech.type).toBe('audio/x');
    expect((await buffer(speech.read())).equals(await readFile(path))).toBe(true);
    await speech.discard();
  });

  it('in a WAV that was streamed is measured to its end', async () => {
    const wav = await readFile(await files.make('streamed.wav', aTone(2, 24_000)));
    wav.writeUInt32LE(0xffff_ffff, wav.indexOf('data') + 4);
    const speech = await takeBytes(wav, 'wav');
    expect(speech.seconds).toBe(2);
    await speech.discard();
  });

  it('that is cut off is none', async () => {
    const wav = await readFile(await files.make('whole.wav', aTone(2, 24_000)));
    await expect(takeBytes(wav.subarray(0, wav.length / 2), 'wav')).rejects.toMatchObject({ kind: 'invalid_output' });
  });

  it.each(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const)('of nothing is none in %s', async (format) => {
    await expect(takeBytes(Buffer.alloc(0), format)).rejects.toMatchObject({ kind: 'invalid_output' });
  });

  it.each(['mp3', 'opus', 'aac', 'flac', 'wav'] as const)('of a page is none in %s', async (format) => {
    const page = Buffer.from('<html><body>Bad Gateway</body></html>');
    await expect(takeBytes(page, format)).rejects.toMatchObject({ kind: 'invalid_output' });
  });
});
