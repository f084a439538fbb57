const RATE = 16_000;
const HEADER_BYTES = 44;
const BOUNDARY = 'bench-4c8a1ba0bbd54ea8';

/** A recording of so many seconds of noise: WAV, 16 kHz, one channel. */
function toWav(seconds: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + 2 * RATE * seconds);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(RATE, 24);
  bytes.writeUInt32LE(2 * RATE, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(bytes.length - HEADER_BYTES, 40);
  let state = 1;
  for (let at = HEADER_BYTES; at < bytes.length; at += 2) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes.writeInt16LE((state >>> 18) - 8_192, at);
  }
  return bytes;
}

/** A request that has a recording of so many seconds written down, as bytes in Latin-1. */
export function toUpload(
  { model, path, seconds }: { model: string; path: string; seconds: number },
  { port, apiKey }: { port: number; apiKey: string },
): string {
  const body = [
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n`,
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="speech.wav"\r\ncontent-type: audio/wav\r\n\r\n`,
    toWav(seconds).toString('latin1'),
    `\r\n--${BOUNDARY}--\r\n`,
  ].join('');
  return [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${apiKey}`,
    `content-type: multipart/form-data; boundary=${BOUNDARY}`,
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
}
