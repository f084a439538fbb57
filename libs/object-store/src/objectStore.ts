import type { Readable } from 'node:stream';

/** Bytes of an object, the first and the last of them counted in. A last one behind the object's end means its end. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface PutOptions {
  contentType: string;
  /** The most that the stream may hold. */
  maxBytes: number;
  /** Exact length of the stream, if the sender promised one. */
  bytes?: number;
}

/** Length and hash of a stored object, counted while it was stored. */
export interface StoredBytes {
  bytes: number;
  /** In lower-case hexadecimal digits. */
  sha256: string;
}

export interface ListedObject {
  key: string;
  bytes: number;
  modifiedAt: Date;
}

export interface ObjectHead {
  bytes: number;
  contentType: string;
  /** Names these bytes among all that the key ever had; in quotes, as HTTP has it. */
  etag: string;
}

export interface ObjectContent extends ObjectHead {
  /** Length of the range. `bytes` is the length of the whole object. */
  contentBytes: number;
  /**
   * Ends after exactly that many bytes, or fails with an `ObjectStoreError`. It holds a connection or a file until it has been read
   * to its end or destroyed.
   */
  content: Readable;
}

/**
 * A place for files that are written once, read in ranges and removed. Every function but `put` may be repeated at will. All throw
 * an `ObjectStoreError`.
 *
 * A key is a path, `videos/video_1/clip.mp4`: folders of letters, digits, `_` and `-`, and a name of the same with an extension. Any
 * other one is a mistake of the code, a `TypeError`.
 */
export interface ObjectStore {
  /**
   * Stores a stream under a key that has no object yet, all of it or nothing. `exists` where there is one; `too_large`,
   * `wrong_length` or `stalled` where the stream is to blame, and its own error where it fails. The stream is destroyed then. After
   * `unavailable` the object may be there or not: whoever tries again takes another key and deletes this one.
   */
  put(key: string, source: Readable, options: PutOptions): Promise<StoredBytes>;
  /** `missing` where there is none; a `RangeError` where the range begins behind the object's end. */
  get(key: string, range?: ByteRange): Promise<ObjectContent>;
  head(key: string): Promise<ObjectHead | undefined>;
  /** Resolves when there is no object of that key, whether there was one or not. */
  delete(key: string): Promise<void>;
  /** The objects whose keys begin so, in the order of their keys, read by pages as they are asked for. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /**
   * Removes what puts left behind that began before an instant and never ended, under keys that begin so: parts of uploads,
   * temporary files. Answers how many. A put that goes on since then fails.
   */
  removeUnfinished(prefix: string, startedBefore: Date): Promise<number>;
  close(): Promise<void>;
}

/** Throws a `RangeError` on a range that no object has. */
export function assertByteRange({ start, end }: ByteRange): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start)
    throw new RangeError(`no range of bytes: ${start}-${end}`);
}

export const beyondTheEnd = (): RangeError => new RangeError('the range begins behind the end of the object');

/** With an extension on the last name alone, no object's file is another one's folder; without a dot in front, none leads out. */
const KEY = /^(?:[\w-]{1,128}\/){0,8}(?=[\w.-]{1,128}$)[\w-]+(?:\.[\w-]+)+$/;
const PREFIX = /^(?:[\w-]{1,128}\/){0,8}(?:[\w-][\w.-]{0,127})?$/;

export const isObjectKey = (text: string): boolean => KEY.test(text);

/** Throws a `TypeError` on what is no key. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new TypeError(`not a key of the object store: ${JSON.stringify(key)}`);
}

/** Throws a `TypeError` on what no key begins with. */
export function assertKeyPrefix(prefix: string): void {
  if (!PREFIX.test(prefix)) throw new TypeError(`no key of the object store begins with ${JSON.stringify(prefix)}`);
}
