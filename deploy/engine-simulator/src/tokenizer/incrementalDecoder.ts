import { bytesOfToken, type TokenId, textOfToken } from './tokenizer.ts';

/** How many bytes of `bytes` are whole characters; the rest is the beginning of one. */
function wholeCharacterBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) {
      const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return size > back ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}

/** Turns tokens into text one by one, holding back a character until its last byte is there. */
export class IncrementalDecoder {
  #pending: Buffer | undefined;

  /** The text that the token completes; empty while a character is still cut. */
  push(id: TokenId): string {
    if (!this.#pending) {
      const text = textOfToken(id);
      if (text !== undefined) return text;
    }
    const bytes = this.#pending ? Buffer.concat([this.#pending, bytesOfToken(id)]) : bytesOfToken(id);
    const whole = wholeCharacterBytes(bytes);
    this.#pending = whole < bytes.length ? bytes.subarray(whole) : undefined;
    return bytes.toString('utf8', 0, whole);
  }
}
