import { readdir, readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { watchChildren } from '../../test/support/childrenOf.ts';
import { aFlacBomb, withEdits } from '../../test/support/hostileSound.ts';
import { aTestFolder, aTone, type TestFolder } from '../../test/support/testFolder.ts';
import { prepareRecording, type Recording } from './prepareRecording.ts';

let files: TestFolder;
let work: TestFolder;
const recordings: Recording[] = [];

beforeAll(async () => {
  [files, work] = [await aTestFolder(), await aTestFolder()];
});
afterEach(async () => {
  await Promise.all(recordings.splice(0).map((recording) => recording.discard()));
  // Nothing that it works with has a name.
  expect(await readdir(work.path)).toEqual([]);
});
afterAll(async () => {
  await files.remove();
  await work.remove();
});

async function prepare(path: string, maxSeconds = 60): Promise<Recording> {
  const recording = await prepareRecording(
    { path },
    { folder: work.path, maxSeconds, signal: AbortSignal.timeout(300_000) },
  );
  recordings.push(recording);
  return recording;
}

const refused = (kind: string) => ({ name: 'MediaFault', kind });

describe('a recording', () => {
  it.each([
    ['wav', []],
    ['flac', []],
    ['mp3', []],
    ['m4a', []],
    ['ogg', ['-c:a', 'libopus']],
    ['webm', ['-c:a', 'libopus']],
    ['mpga', ['-c:a', 'mp2', '-f', 'mp2']],
  ])('of %s becomes a FLAC of one channel and 16 kHz, with its seconds', async (ending, args) => {
    const path = await files.make(`tone.${ending}`, [...aTone(2), '-ac', '2', ...args]);
    const { type, seconds, bytes, path: made } = await prepare(path);
    const flac = await readFile(made);
    expect({ type, bytes, head: flac.subarray(0, 4).toString() }).toEqual({
      type: 'audio/flac',
      bytes: flac.length,
      head: 'fLaC',
    });
    // Rate and channels, as the header has them.
    expect([flac.readUIntBE(18, 3) >> 4, (flac.readUInt8(20) >> 1) & 7]).toEqual([16_000, 0]);
    expect(Math.abs(seconds - 2)).toBeLessThan(0.1);
  });

  it('is measured to the millisecond', async () => {
    expect((await prepare(await files.make('exact.wav', aTone(1.234)))).seconds).toBe(1.234);
  });

  it('of exactly the longest length is taken, a longer one is not', async () => {
    const path = await files.make('minute.wav', aTone(3));
    expect((await prepare(path, 3)).seconds).toBe(3);
    await expect(prepare(path, 2)).rejects.toMatchObject(refused('too_long'));
  });

  it('that unpacks to an hour is cut off soon after the longest length', async () => {
    const path = await files.make('bomb.flac', ['-f', 'lavfi', '-i', 'anullsrc=r=8000', '-t', '3600']);
    await expect(prepare(path, 10)).rejects.toMatchObject(refused('too_long'));
  });

  it.each([
    ['less than there is', 32_000],
    ['nothing', 0],
    ['more than there is', 2 ** 31],
    ['that nobody knows', 0xffff_ffff],
  ])('in a WAV whose header says %s is as long as what is in it', async (_case, dataBytes) => {
    const wav = await readFile(await files.make('honest.wav', ['-bitexact', ...aTone(3, 16_000), '-bitexact']));
    const at = wav.indexOf('data') + 4;
    wav.writeUInt32LE(dataBytes, at);
    expect((await prepare(await files.write('forged.wav', wav))).seconds).toBe(3);
  });

  it('in a WAV with something behind the sound is as long as the sound', async () => {
    const wav = await readFile(await files.make('plain.wav', aTone(1, 16_000)));
    const note = Buffer.concat([Buffer.from('note'), Buffer.from([0, 0x10, 0, 0]), Buffer.alloc(0x1000, 7)]);
    expect((await prepare(await files.write('note.wav', Buffer.concat([wav, note])))).seconds).toBe(1);
  });

  it('that is too large for engines as FLAC goes as Opus', async () => {
    // Noise cannot be made smaller without loss: 14 minutes of it are 27 MB.
    const noise = ['-f', 'lavfi', '-i', 'anoisesrc=r=16000:d=840:a=0.9'];
    const path = await files.make('noise.wav', noise);
    const { type, seconds, bytes, path: made } = await prepare(path, 1_000);
    expect({ type, head: (await readFile(made)).subarray(0, 4).toString() }).toEqual({
      type: 'audio/ogg',
      head: 'OggS',
    });
    expect(Math.round(seconds)).toBe(840);
    expect(bytes).toBeLessThan(24 * 1024 ** 2);
  });

  it('beside pictures is taken alone', async () => {
    const video = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10', '-t', '1'];
    const path = await files.make('film.mp4', [...video, ...aTone(1), '-shortest']);
    expect(Math.abs((await prepare(path)).seconds - 1)).toBeLessThan(0.1);
  });

  it('that is given up is given up at once', async () => {
    const path = await files.make('long.wav', aTone(30));
    const signal = AbortSignal.abort(new Error('left'));
    await expect(prepareRecording({ path }, { folder: work.path, maxSeconds: 60, signal })).rejects.toThrow('left');
  });
});

describe('what is no recording', () => {
  const secret = 'file:///etc/passwd';
  it.each([
    ['nothing', ''],
    ['a text', 'good morning'],
    ['a page', '<html><body>no</body></html>'],
    ['a playlist of HLS', `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${secret}\n#EXT-X-ENDLIST\n`],
    ['a list of ffmpeg', `ffconcat version 1.0\nfile '${secret}'\n`],
    ['a playlist', `[playlist]\nFile1=${secret}\n`],
    ['a description of DASH', `<?xml version="1.0"?><MPD><BaseURL>${secret}</BaseURL></MPD>`],
    ['a description of SDP', 'v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n'],
    ['a picture', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['a header alone', Buffer.from('fLaC\0\0\0\x22'.padEnd(42, '\0'), 'latin1')],
    ['noise that begins like MPEG', Buffer.concat([Buffer.from([0xff, 0xfb, 0x90]), Buffer.alloc(4_000, 0x55)])],
  ])('is refused: %s', async (_case, bytes) => {
    await expect(prepare(await files.write('upload', bytes))).rejects.toMatchObject(refused('invalid_input'));
  });

  it('is refused: a film without sound', async () => {
    const path = await files.make('mute.mp4', ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10', '-t', '1']);
    await expect(prepare(path)).rejects.toMatchObject(refused('invalid_input'));
  });

  it('is refused: a container whose sound wants a decoder that is not on the list', async () => {
    const path = await files.make('odd.mka', [...aTone(1), '-c:a', 'wmav2']);
    await expect(prepare(path)).rejects.toMatchObject(refused('invalid_input'));
  });

  it('is refused: a playlist behind the head of a file that is taken', async () => {
    const path = await files.write('both', `fLaC\n#EXTM3U\n#EXTINF:1,\n${secret}\n`);
    await expect(prepare(path)).rejects.toMatchObject(refused('invalid_input'));
  });
});

describe('a small file that claims much', () => {
  const still = { channels: 8, rate: 192_000, frames: 50_000, isNumbered: false };
  const edits = { edits: 100_000, playedMs: 16_000 };
  it.each<[string, string | number, () => Promise<Buffer>]>([
    ['FLAC of 655,350 Hz', 'too_dense', async () => aFlacBomb({ channels: 8, rate: 655_350, frames: 50_000 })],
    ['FLAC of 192 kHz whose time stands still', 'invalid_input', async () => aFlacBomb(still)],
    ['an edit list that plays 16 s 100,000 times', 16, async () => withEdits(await readFile(await anM4a()), edits)],
  ])('takes less than 2 s of processor time and 512 MiB: %s', async (_case, outcome, make) => {
    const path = await files.write('bomb', await make());
    const end = watchChildren();
    const what = await prepare(path, 7_200).then(
      ({ seconds }) => Math.floor(seconds),
      ({ kind }) => kind,
    );
    const { processorMs, peakMiB } = end();
    expect(what).toBe(outcome);
    expect(processorMs).toBeLessThan(2_000);
    expect(peakMiB).toBeLessThan(512);
  });
  const anM4a = () => files.make('sixteen.m4a', aTone(16));
});
