/**
 * The numbers of an embedding: float32, least significant byte first, where it is a base64 text. Clients that are asked for
 * base64 by name hand over the text, whatever their types say.
 */
export function toVector(embedding: number[] | string): number[] {
  if (typeof embedding !== 'string') return [...embedding];
  const bytes = Buffer.from(embedding, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
}
