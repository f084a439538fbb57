const CR = 0x0d;
const LF = 0x0a;

/** Copies bytes into one chunk of HTTP/1.1 (RFC 9112, Chunked Transfer Coding): Node writes one in four parts. */
export function toChunk(parts: readonly Buffer[]): Buffer {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  const size = bytes.toString(16);
  const chunk = Buffer.allocUnsafe(size.length + bytes + 4);
  let position = chunk.write(size, 'latin1');
  position = endLine(chunk, position);
  for (const part of parts) position += part.copy(chunk, position);
  endLine(chunk, position);
  return chunk;
}

function endLine(chunk: Buffer, position: number): number {
  chunk[position] = CR;
  chunk[position + 1] = LF;
  return position + 2;
}
