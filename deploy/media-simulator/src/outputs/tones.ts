/**
 * The encoding of text as sound: a marker, the length of a symbol, then two tones for each UTF-8 byte.
 * The encoding survives resampling, MP3 and Opus, so that speech can be transcribed.
 */
export const SPEECH_RATE = 24_000;
/** 16 tones, which at 30 ms end where they began. */
const FIRST_HZ = 600;
const STEP_HZ = 400 / 3;
const MARKER_HZ = 3_000;
const SYMBOL_SAMPLES = 720;
const MARKER_SYMBOLS = 4;
const LENGTH_SYMBOLS = 4;

const toHz = (symbol: number): number => FIRST_HZ + symbol * STEP_HZ;

/** 16-bit samples at 24 kHz of what is said: 60 ms a byte at speed 1, and 240 ms before it. */
export function speak(text: string, { speed, loudness }: { speed: number; loudness: number }): Buffer {
  const symbolSamples = Math.round(SYMBOL_SAMPLES / speed);
  const lengthSymbols = Array.from({ length: LENGTH_SYMBOLS }, (_, index) => (symbolSamples >> (12 - 4 * index)) & 15);
  const textSymbols = [...Buffer.from(text)].flatMap((byte) => [byte >> 4, byte & 15]);
  const tones = Array.from({ length: 16 }, (_, symbol) => toneOf(toHz(symbol), symbolSamples, loudness));
  return Buffer.concat([
    toneOf(MARKER_HZ, MARKER_SYMBOLS * SYMBOL_SAMPLES, loudness),
    ...lengthSymbols.map((symbol) => toneOf(toHz(symbol), SYMBOL_SAMPLES, loudness)),
    ...textSymbols.map((symbol) => tones[symbol] ?? Buffer.alloc(0)),
  ]);
}

function toneOf(hz: number, samples: number, loudness: number): Buffer {
  const tone = Buffer.alloc(samples * 2);
  for (let at = 0; at < samples; at += 1) {
    tone.writeInt16LE(Math.round(loudness * Math.sin((2 * Math.PI * hz * at) / SPEECH_RATE)), at * 2);
  }
  return tone;
}

/** The text in samples of 16 bits at `rate`; undefined where nobody has spoken like this. */
export function listen(samples: Int16Array, rate: number): string | undefined {
  const start = findEndOfMarker(samples, rate);
  if (start === undefined) return undefined;
  const perSample = rate / SPEECH_RATE;
  let at = start;
  const next = (length: number): number | undefined => {
    const symbol = symbolOf(samples, { from: at + length * 0.2, to: at + length * 0.8, rate });
    at += length;
    return symbol;
  };
  let symbolSamples = 0;
  for (let index = 0; index < LENGTH_SYMBOLS; index += 1) {
    symbolSamples = symbolSamples * 16 + (next(SYMBOL_SAMPLES * perSample) ?? 0);
  }
  if (symbolSamples === 0) return undefined;
  const bytes: number[] = [];
  for (;;) {
    const high = next(symbolSamples * perSample);
    const low = next(symbolSamples * perSample);
    if (high === undefined || low === undefined) break;
    bytes.push(high * 16 + low);
  }
  return Buffer.from(bytes).toString('utf8');
}

/** Returns the end of the marker in the samples. */
function findEndOfMarker(samples: Int16Array, rate: number): number | undefined {
  const window = Math.round(rate / 100);
  const hop = Math.round(rate / 2_000);
  const longest = Math.min(samples.length - window, rate);
  let run = 0;
  for (let at = 0; at < longest; at += hop) {
    if (shareOf(samples, { from: at, to: at + window, rate, hz: MARKER_HZ }) > 0.5) run += hop;
    // Half of a window that is half marker is still to come.
    else if (run > (rate * SYMBOL_SAMPLES) / SPEECH_RATE) return at + window / 2;
    else run = 0;
  }
  return undefined;
}

interface Span {
  from: number;
  to: number;
  rate: number;
}

/** The tone that is loudest in a span; undefined in silence and behind the end. */
function symbolOf(samples: Int16Array, span: Span): number | undefined {
  if (span.to > samples.length) return undefined;
  const shares = Array.from({ length: 16 }, (_, symbol) => shareOf(samples, { ...span, hz: toHz(symbol) }));
  const best = Math.max(...shares);
  return best > 0.1 ? shares.indexOf(best) : undefined;
}

/** How much of the sound of a span is one tone, from 0 to 1 (Goertzel). */
function shareOf(samples: Int16Array, { from, to, rate, hz }: Span & { hz: number }): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * hz) / rate);
  let [before, last, energy, count] = [0, 0, 0, 0];
  for (let at = Math.round(from); at < to; at += 1) {
    const sample = samples[at] ?? 0;
    const value = sample + coefficient * last - before;
    before = last;
    last = value;
    energy += sample * sample;
    count += 1;
  }
  const power = last * last + before * before - coefficient * last * before;
  const isSilent = energy < count * 100;
  return isSilent ? 0 : (2 * power) / (count * energy);
}
