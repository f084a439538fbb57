import { scanJson } from '@turnpike/request-reading/body/scanJson';

/** Levels of any JSON that an engine writes: as many as a client's request may have. */
export const MAX_ENGINE_JSON_DEPTH = 64;
/** Values of what is parsed. An empty list of two bytes takes twenty times its size, and no answer has a thousandth of these. */
const MAX_VALUES = 100_000;

/** Members of the outermost object. */
const MAX_MEMBERS = 1_000;

const LIMITS = {
  depth: MAX_ENGINE_JSON_DEPTH,
  values: Number.POSITIVE_INFINITY,
  members: MAX_MEMBERS,
  membersOfOne: Number.POSITIVE_INFINITY,
  dearKeys: Number.POSITIVE_INFINITY,
  textBytes: Number.POSITIVE_INFINITY,
};

/** Parses an engine's JSON. Returns undefined if it is no JSON, too deep, or has too many values. */
export function parseEngineJson(bytes: Buffer): unknown {
  const { depth, values } = scanJson(bytes, { ...LIMITS, values: MAX_VALUES });
  if (depth > LIMITS.depth || values > MAX_VALUES) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Returns the outermost members of an engine's JSON object, unparsed and of any length; undefined where it is too deep. */
export function findEngineMembers(bytes: Buffer): ReadonlyMap<string, Buffer> | undefined {
  const { depth, members } = scanJson(bytes, LIMITS);
  if (depth > LIMITS.depth || members.length > MAX_MEMBERS) return undefined;
  return new Map(members.map(({ key, valueStart, end }) => [key, bytes.subarray(valueStart, end)]));
}

/** Bytes of one write. The system copies a write in one piece and blocks other work meanwhile. */
const MAX_BYTES_AT_ONCE = 262_144;

/**
 * Returns the pieces of a body to write one after the other: one for a short body, else slices of at most
 * `MAX_BYTES_AT_ONCE`.
 */
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
