import type { ByteRange } from './objectStore.ts';

/** Throws a `RangeError` on a range that no object has. */
export function assertByteRange({ start, end }: ByteRange): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start)
    throw new RangeError(`no range of bytes: ${start}-${end}`);
}

export const beyondTheEnd = (): RangeError => new RangeError('the range begins behind the end of the object');
