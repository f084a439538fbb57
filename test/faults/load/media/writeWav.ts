import type { Random } from '../random.ts';

const RATE = 16_000;
const HEADER_BYTES = 44;
const LOUDEST = 8_000;

/** A WAV file of noise, exactly as long as said, and unlike any other. */
export function writeWav(seconds: number, random: Random): Uint8Array<ArrayBuffer> {
  const samples = Math.round(seconds * RATE);
  const wav = new DataView(new ArrayBuffer(HEADER_BYTES + 2 * samples));
  const text = (at: number, chars: string): void => {
    for (const [index, char] of [...chars].entries()) wav.setUint8(at + index, char.charCodeAt(0));
  };
  text(0, 'RIFF');
  wav.setUint32(4, 36 + 2 * samples, true);
  text(8, 'WAVEfmt ');
  wav.setUint32(16, 16, true);
  wav.setUint16(20, 1, true);
  wav.setUint16(22, 1, true);
  wav.setUint32(24, RATE, true);
  wav.setUint32(28, 2 * RATE, true);
  wav.setUint16(32, 2, true);
  wav.setUint16(34, 16, true);
  text(36, 'data');
  wav.setUint32(40, 2 * samples, true);
  for (let index = 0; index < samples; index += 1)
    wav.setInt16(HEADER_BYTES + 2 * index, random.between(-LOUDEST, LOUDEST), true);
  return new Uint8Array(wav.buffer);
}
