const CR = 0x0d;
const LF = 0x0a;

/** Copies bytes into one chunk of HTTP/1.1 (RFC 9112, Chunked Transfer Coding): Node writes one in four parts. */
export function toChunk(parts: readonly Buffer[]): Buffer {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  const size = bytes.toString(16);
  const chunk = Buffer.allocUnsafe(size.length + bytes + 4);
  let end = chunk.write(size, 'latin1');
  chunk[end] = CR;
  chunk[end + 1] = LF;
  end += 2;
  for (const part of parts) end += part.copy(chunk, end);
  chunk[end] = CR;
  chunk[end + 1] = LF;
  return chunk;
}
