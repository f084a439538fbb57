import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aTestFolder, aTone, type TestFolder } from '../../test/support/testFolder.ts';
import type { SpeechFormat } from '../terms/mediaRequest.ts';
import { convertSpeech } from './convertSpeech.ts';
import { type Speech, takeSpeech } from './takeSpeech.ts';
import { createWorkPool } from './workPool.ts';

const run = promisify(execFile);
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

/** Returns the length by the header. */
async function lengthOf(path: string): Promise<number> {
  const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', path]);
  return Number(stdout);
}

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

  it.each([
    ['mp3', 0.1],
    ['opus', 0.01],
    ['aac', 0.2],
    ['flac', 0],
    ['wav', 0],
  ] as const)('in %s that was streamed says how long it is', async (format, tolerance) => {
    const tone = await files.make('tone.pcm', [...aTone(2, 24_000), '-f', 's16le', '-ac', '1']);
    const signal = AbortSignal.timeout(60_000);
    const streamed = await convertSpeech(createReadStream(tone), { from: 'pcm', to: format, signal });
    const speech = await take(streamed, format);
    const path = join(files.path, `stored.${format}`);
    await writeFile(path, speech.read());
    expect(Math.abs((await lengthOf(path)) - 2)).toBeLessThanOrEqual(tolerance);
    expect((await stat(path)).size).toBe(speech.bytes);
    await speech.discard();
  });

  it.each([
    ['all that can be', 0xffff_ffff, 0],
    ['nothing', 0, 0],
    ['what ffmpeg takes for nothing', 0x7fff_ffff, 0],
    ['all that can be, and half a sample', 0xffff_ffff, 1],
  ])('in a WAV whose header says %s has its true lengths', async (_what, length, surplus) => {
    const wav = await readFile(await files.make('streamed.wav', aTone(2, 24_000)));
    const streamed = Buffer.concat([wav, Buffer.alloc(surplus)]);
    streamed.writeUInt32LE(length, 4);
    streamed.writeUInt32LE(length, wav.indexOf('data') + 4);
    const speech = await takeBytes(streamed, 'wav');
    expect(speech.seconds).toBe(2);
    expect((await buffer(speech.read())).equals(wav)).toBe(true);
    expect(speech.bytes).toBe(wav.length);
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
