import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aTestFolder, aTone, type TestFolder } from '../../test/support/testFolder.ts';
import { convertSpeech } from './convertSpeech.ts';
import { prepareRecording } from './prepareRecording.ts';

const RATE = 24_000;
let files: TestFolder;
let wav: Buffer;

beforeAll(async () => {
  files = await aTestFolder();
  wav = await readFile(await files.make('speech.wav', ['-bitexact', ...aTone(2, RATE), '-ac', '1', '-bitexact']));
});
afterAll(() => files.remove());

/** Never fires: the time limit of a test is Jest's, and the file as a whole has none. */
const { signal } = new AbortController();
const toStream = (bytes: Buffer): Readable => Readable.from([bytes], { objectMode: false });

async function secondsOf(name: string, bytes: Buffer): Promise<number> {
  const path = await files.write(name, bytes);
  const recording = await prepareRecording({ path }, { folder: files.path, maxSeconds: 60, signal });
  await recording.discard();
  return recording.seconds;
}

describe('speech', () => {
  it.each(['mp3', 'opus', 'flac', 'wav'] as const)('becomes %s', async (to) => {
    const bytes = await buffer(await convertSpeech(toStream(wav), { from: 'wav', to, signal }));
    expect(Math.abs((await secondsOf(`speech.${to}`, bytes)) - 2)).toBeLessThan(0.1);
  });

  it('becomes AAC', async () => {
    const bytes = await buffer(await convertSpeech(toStream(wav), { from: 'wav', to: 'aac', signal }));
    const path = await files.write('speech.aac', bytes);
    const decoded = await files.make('decoded.wav', ['-f', 'aac', '-i', path]);
    expect(Math.abs((await secondsOf('copy.wav', await readFile(decoded))) - 2)).toBeLessThan(0.1);
  });

  it('becomes samples alone, and these become what has a header', async () => {
    const samples = await buffer(await convertSpeech(toStream(wav), { from: 'wav', to: 'pcm', signal }));
    expect(samples.equals(wav.subarray(wav.indexOf('data') + 8))).toBe(true);
    const flac = await buffer(await convertSpeech(toStream(samples), { from: 'pcm', to: 'flac', signal }));
    expect(await secondsOf('samples.flac', flac)).toBe(2);
  });

  it('comes as it is made, also where its length is not known yet', async () => {
    const header = Buffer.from(wav);
    header.writeUInt32LE(0xffff_ffff, wav.indexOf('data') + 4);
    const heard = Promise.withResolvers<void>();
    async function* speak(): AsyncGenerator<Buffer> {
      yield header.subarray(0, header.length / 2);
      await heard.promise;
      yield header.subarray(header.length / 2);
    }
    const source = Readable.from(speak(), { objectMode: false });
    let bytes = 0;
    for await (const chunk of await convertSpeech(source, { from: 'wav', to: 'aac', signal })) {
      heard.resolve();
      bytes += chunk.length;
    }
    expect(bytes).toBeGreaterThan(10_000);
  });

  it('fails as its source does', async () => {
    const broken = new Error('broke off');
    async function* speak(): AsyncGenerator<Buffer> {
      yield wav.subarray(0, 10_000);
      throw broken;
    }
    const source = Readable.from(speak(), { objectMode: false });
    const converted = await convertSpeech(source, { from: 'wav', to: 'aac', signal });
    await expect(buffer(converted)).rejects.toBe(broken);
  });

  it.each([
    ['nothing', ''],
    ['a page', '<html><body>Bad Gateway</body></html>'],
    ['the beginning of a header', 'RIFF\0\0\0\0WAVEfmt '],
    ['a header that does not end', `RIFF\0\0\0\0WAVE${'junk\0\0\0\0'.repeat(1_000)}`],
    ['sound without a form', 'RIFF\0\0\0\0WAVEdata\0\0\0\0'],
  ])('fails where it is none: %s', async (_case, text) => {
    const source = toStream(Buffer.from(text, 'latin1'));
    await expect(convertSpeech(source, { from: 'wav', to: 'aac', signal })).rejects.toMatchObject({
      kind: 'invalid_output',
    });
    expect(source.destroyed).toBe(true);
  });

  it('fails as its source does before it began', async () => {
    const broken = new Error('broke off');
    const source = toStream(wav)
      .on('error', () => {})
      .destroy(broken);
    await expect(convertSpeech(source, { from: 'wav', to: 'aac', signal })).rejects.toBe(broken);
  });

  it('may come byte by byte', async () => {
    const bytes = wav.subarray(0, 4_000);
    const source = Readable.from(
      [...bytes].map((byte) => Buffer.from([byte])),
      { objectMode: false },
    );
    const samples = await buffer(await convertSpeech(source, { from: 'wav', to: 'pcm', signal }));
    expect(samples.equals(bytes.subarray(bytes.indexOf('data') + 8))).toBe(true);
  });

  it.each(['signal', 'reader'] as const)('ends its source when its %s goes', async (who) => {
    const left = new AbortController();
    const source = new Readable({ read() {} });
    source.push(wav.subarray(0, 20_000));
    const converted = await convertSpeech(source, { from: 'wav', to: 'aac', signal: left.signal });
    const closed = new Promise((resolve) => source.once('close', resolve));
    const reading = buffer(converted).catch((error: unknown) => error);
    if (who === 'signal') left.abort(new Error('left'));
    else converted.destroy();
    await closed;
    if (who === 'signal') expect(await reading).toMatchObject({ message: 'left' });
  });
});
