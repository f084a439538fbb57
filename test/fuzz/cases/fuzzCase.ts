import type { RawCase } from './rawCase.ts';

/** A request that an ordinary HTTP client can send. */
export interface CallCase {
  kind: 'call';
  method: string;
  /** From `/v1` on, query included. */
  path: string;
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer | undefined;
  /** Sent in chunks of so many bytes, without a length; undefined: whole, with one. */
  chunkBytes: number | undefined;
}

/** One input. Where it names a key, `KEY` stands for it, so that a case can be shown to anybody. */
export type FuzzCase = CallCase | RawCase;

/** Stands in a case for the API key of the run. */
export const KEY = '$TURNPIKE_API_KEY';

const SHOWN = 1_500;

/** The case in a few lines, as a person would read it. */
export function describeCase(fuzzCase: FuzzCase): string {
  if (fuzzCase.kind === 'raw') return `raw bytes: ${show(fuzzCase.bytes)}`;
  const { method, path, headers, body, chunkBytes } = fuzzCase;
  const framing = chunkBytes === undefined ? '' : ` in chunks of ${chunkBytes} bytes`;
  const lines = headers.map(([name, value]) => `  ${name}: ${show(Buffer.from(value, 'latin1'))}`);
  return [`${method} ${path}${framing}`, ...lines, ...(body ? [`  body: ${show(body)}`] : [])].join('\n');
}

/** Text where it is some, else its bytes in hexadecimal; a long one by its beginning. */
function show(bytes: Buffer): string {
  const part = bytes.subarray(0, SHOWN);
  const rest = bytes.length > SHOWN ? ` … of ${bytes.length} bytes` : '';
  const text = part.toString('utf8');
  const isText = Buffer.from(text).equals(part) || rest !== '';
  return `${isText ? JSON.stringify(text) : `hex ${part.toString('hex')}`}${rest}`;
}
