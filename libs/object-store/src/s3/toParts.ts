export interface Part {
  bytes: Buffer;
  isLast: boolean;
}

/** Cuts a stream into parts of one size, the last of them smaller or as large; an empty stream is one empty part. */
export async function* toParts(chunks: AsyncIterable<Uint8Array>, partBytes: number): AsyncGenerator<Part, void> {
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  for await (const chunk of chunks) {
    waiting.push(chunk);
    waitingBytes += chunk.byteLength;
    // A part that is exactly full stays in the list, because it may be the last one.
    while (waitingBytes > partBytes) {
      const last = waiting.pop() as Uint8Array;
      const beforeLast = waitingBytes - last.byteLength;
      const [taken, rest] = [last.subarray(0, partBytes - beforeLast), last.subarray(partBytes - beforeLast)];
      const bytes = Buffer.concat([...waiting, taken], partBytes);
      waiting = [rest];
      waitingBytes = rest.byteLength;
      yield { bytes, isLast: false };
    }
  }
  yield { bytes: Buffer.concat(waiting), isLast: true };
}
