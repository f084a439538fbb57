/** Bytes that come in pieces as the base64 of all of them together. */
export async function* toBase64(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    // Three bytes are four letters: what is left over waits for the next piece.
    const whole = bytes.length - (bytes.length % 3);
    rest = bytes.subarray(whole);
    if (whole > 0) yield bytes.toString('base64', 0, whole);
  }
  if (rest.length > 0) yield rest.toString('base64');
}
