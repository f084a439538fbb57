import type { RunningStack } from '@turnpike/local-stack/startStack';
import { divideRounds, type Figure } from '../figure.ts';
import { median } from '../median.ts';
import { setKnobs } from './setKnobs.ts';

const MODEL = 'kokoro-82m';
const VOICE = 'af_heart';
const FORMATS = ['pcm', 'wav', 'mp3'] as const;
type Format = (typeof FORMATS)[number];
/** Spoken in three pieces of half a second. */
const INPUT = 'The quick brown fox.';
const PIECES = 3;
/** Time of an engine to its first piece. Kokoro's own documentation names 300 ms on a graphics card. */
const FIRST_PIECE_MS = 100;
const WARM_UP_ROUNDS = 2;
const ROUNDS = 5;
const WANTED_RATIO = 1.2;

/** One call after the other, each time of the backend itself and by the edge, in turns. */
export async function measureFirstByte(
  { stack }: RunningStack,
  { progress }: { progress: (text: string) => void },
): Promise<Figure[]> {
  const region = stack.regions.us;
  const backend = region.media_backends.find(({ model }) => model === MODEL);
  if (!backend) throw new Error(`the stack has no backend of ${MODEL}`);
  await setKnobs(backend, { renderBaseMs: FIRST_PIECE_MS * PIECES });
  const direct = { url: `${backend.url}/v1/audio/speech`, headers: {} };
  const gateway = {
    url: `${region.base_url}/audio/speech`,
    headers: { authorization: `Bearer ${region.api_key}` },
  };
  const figures: Figure[] = [];
  print(`a backend whose first piece takes ${FIRST_PIECE_MS} ms; medians of ${ROUNDS} rounds`);
  for (const format of FORMATS) {
    const [own, ours]: [number[], number[]] = [[], []];
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
      progress(`${format}, round ${round + 1} of ${WARM_UP_ROUNDS + ROUNDS}`);
      // Each goes first every other time, so that neither always meets the warmer machine.
      const turns = [
        { target: direct, times: own },
        { target: gateway, times: ours },
      ];
      for (const { target, times } of round % 2 === 0 ? turns : turns.reverse()) {
        const ms = await firstByteMs(target, format);
        if (round >= WARM_UP_ROUNDS) times.push(ms);
      }
    }
    figures.push({
      name: `first byte of ${format} by the edge ÷ of the backend`,
      rounds: divideRounds(ours, own),
      atMost: WANTED_RATIO,
    });
    const times = `${median(own).toFixed(1)} ms, by the edge ${median(ours).toFixed(1)} ms`;
    print(`${format.padEnd(4)} ${times}`);
  }
  return figures;
}

async function firstByteMs(
  { url, headers }: { url: string; headers: Record<string, string> },
  format: Format,
): Promise<number> {
  const body = JSON.stringify({ model: MODEL, voice: VOICE, input: INPUT, response_format: format });
  const askedAt = performance.now();
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  if (!response.ok || !response.body) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  let firstMs: number | undefined;
  for await (const bytes of response.body) if (bytes.length > 0) firstMs ??= performance.now() - askedAt;
  if (firstMs === undefined) throw new Error(`${url} gave no byte`);
  return firstMs;
}

const print = (line: string): void => void process.stdout.write(`  ${line}\n`);
