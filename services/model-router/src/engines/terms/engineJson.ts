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

/** Returns the value that an engine's JSON stands for; undefined where it is no JSON, too deep, or has too many values. */
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
