/** Bytes of a content, the first and the last of them counted in. */
export interface Range {
  start: number;
  end: number;
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Returns the single range of a content with so many bytes, from a `Range` header. Returns undefined for several
 * ranges, a malformed one, and one that cannot be satisfied. Then the whole content is sent, as HTTP allows.
 */
export function parseRange(header: string | undefined, bytes: number): Range | undefined {
  const [, first = '', last = ''] = RANGE.exec(header ?? '') ?? [];
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    return last === '' || length === 0 ? undefined : { start: bytes - length, end: bytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  return start > end ? undefined : { start, end };
}
