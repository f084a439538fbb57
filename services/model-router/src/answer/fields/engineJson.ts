export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value an engine's JSON stands for; undefined where it is no JSON. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The status an engine put into an error that came with 200. */
export const statusOf = (error: Record<string, unknown>): number => (typeof error.code === 'number' ? error.code : 500);
