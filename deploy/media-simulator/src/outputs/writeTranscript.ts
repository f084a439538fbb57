import { createHash } from 'node:crypto';
import type { Segment } from '../personalities/personality.ts';
import { HEARING_RATE } from './runFfmpeg.ts';
import { listen } from './tones.ts';

const WORDS_PER_SECOND = 2.5;
const SEGMENT_SECONDS = 5;
const WORDS = 'the river runs under an old bridge while two small boats wait for evening light and rain'.split(' ');

/** Returns the words in samples: those that this simulator has spoken, or else as many as fit, the same each time. */
export function writeText(samples: Int16Array): string {
  const spoken = listen(samples, HEARING_RATE);
  if (spoken !== undefined) return spoken;
  const count = Math.ceil((samples.length / HEARING_RATE) * WORDS_PER_SECOND);
  const digest = createHash('sha256').update(samples).digest();
  return Array.from({ length: count }, (_, at) => WORDS[((digest[at % digest.length] ?? 0) + at) % WORDS.length]).join(
    ' ',
  );
}

/** The text in segments of at most some seconds, each word with the same time. */
export function toSegments(text: string, seconds: number): Segment[] {
  const words = text.split(' ').filter((word) => word !== '');
  const count = Math.min(Math.ceil(seconds / SEGMENT_SECONDS), words.length);
  return Array.from({ length: count }, (_, index) => {
    const [from, to] = [cutAt(words.length, index, count), cutAt(words.length, index + 1, count)];
    const toSeconds = (word: number) => Math.round((word / words.length) * seconds * 100) / 100;
    return { start: toSeconds(from), end: toSeconds(to), text: ` ${words.slice(from, to).join(' ')}` };
  });
}

const cutAt = (length: number, index: number, count: number): number => Math.round((length * index) / count);
