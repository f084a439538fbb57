/** A longer body is written in slices: the system copies all that it is given at once, and what else goes on would wait for it. */
const MAX_BYTES_AT_ONCE = 262_144;

/** Returns the pieces of a body to write at once, one after the other: all of a short one, else its bytes as they are. */
export function toSlices(pieces: readonly Buffer[]): Buffer[] {
  const [first] = pieces;
  if (pieces.length === 1 && first && first.length <= MAX_BYTES_AT_ONCE) return [first];
  let size = 0;
  for (const { length } of pieces) size += length;
  if (size <= MAX_BYTES_AT_ONCE) return [Buffer.concat(pieces)];
  return pieces.flatMap((piece) => {
    const starts = Array.from(
      { length: Math.ceil(piece.length / MAX_BYTES_AT_ONCE) },
      (_, nth) => nth * MAX_BYTES_AT_ONCE,
    );
    return starts.map((start) => piece.subarray(start, start + MAX_BYTES_AT_ONCE));
  });
}
