import { describe, expect, it } from '@jest/globals';
import { encodeAudio } from './encodeAudio.ts';
import { runFfmpeg } from './runFfmpeg.ts';
import { listen, SPEECH_RATE, speak } from './tones.ts';

const TEXT = 'Grüße aus 東京, 0123456789! The quick brown fox jumps over the lazy dog.';

describe('what is spoken', () => {
  it.each(['wav', 'flac', 'mp3', 'opus', 'aac'] as const)('is heard again after %s and 16 kHz', async (format) => {
    const file = await encodeAudio(speak(TEXT, { speed: 1, loudness: 8_000 }), format, { isStreamed: false });
    expect(listen(await decode(file), 16_000)).toBe(TEXT);
  });

  it.each([0.25, 0.5, 1.5, 2])('is heard again at speed %d', async (speed) => {
    const file = await encodeAudio(speak(TEXT, { speed, loudness: 6_000 }), 'flac', { isStreamed: false });
    expect(listen(await decode(file), 16_000)).toBe(TEXT);
  });

  it('lasts 60 ms a byte, and 240 ms before', () => {
    expect(speak('abcde', { speed: 1, loudness: 8_000 }).length / 2 / SPEECH_RATE).toBe(0.54);
    expect(speak('abcde', { speed: 2, loudness: 8_000 }).length / 2 / SPEECH_RATE).toBe(0.39);
  });

  it.each([
    ['silence', new Int16Array(48_000)],
    ['noise', Int16Array.from({ length: 48_000 }, (_, index) => ((index * 7_919) % 20_011) - 10_000)],
    ['nothing', new Int16Array(0)],
  ])('is not heard in %s', (_case, samples) => {
    expect(listen(samples, 16_000)).toBeUndefined();
  });
});

async function decode(file: Buffer): Promise<Int16Array> {
  const pcm = await runFfmpeg(['-i', 'pipe:0', '-f', 's16le', '-ac', '1', '-ar', '16000', 'pipe:1'], file);
  return new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.length));
}
