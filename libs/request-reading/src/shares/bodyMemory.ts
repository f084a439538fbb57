import { OrderedSet } from '@turnpike/lifecycle/orderedSet';
import { ApiError } from '@turnpike/public-api/apiError';
import type { BodyFault } from '../faults/bodyFault.ts';
import type { KeyBoundFault } from '../faults/requestFault.ts';

/** An upload that has not got this much further for so long stands still. */
const PROGRESS_BYTES = 16_384;
const STILL_MS = 2_000;
const RETRY_AFTER_SECONDS = 1;

export type MemoryFault = KeyBoundFault | Extract<BodyFault, { kind: 'no_room_for_body' }>;

/** Bytes that one call has taken. */
export interface TakenBytes {
  readonly bytes: number;
  /** Takes more, or nothing and says false when there are not so many left for the key. */
  take(bytes: number): boolean;
  /** Whether so many more would be there if nobody else had any: if not, it is no use to come again. */
  couldTake(bytes: number): boolean;
  /** The fault for a call whose `take` gave nothing: its key has too much, or all keys together have. */
  refusal(): ApiError<MemoryFault>;
  /**
   * Says that an upload begins, whose bytes may be taken back while it stands still and somebody else needs room; `end` then
   * hears why. The function says that it is whole.
   */
  beginUpload(end: (error: ApiError<MemoryFault>) => void): () => void;
  /** Gives so many of them back. */
  giveBack(bytes: number): void;
  /** Gives all of them back. */
  close(): void;
}

/** The memory for bodies and whole answers of calls under way: that of this process, which all keys share. */
export interface BodyMemory {
  /** For one call of a key. */
  open(keyId: string): TakenBytes;
}

interface Upload {
  keyId: string;
  bytes: number;
  /** When it last got further by enough, and what it had then. */
  markedAtMs: number;
  markedBytes: number;
  takeBack: () => void;
}

/** Makes a memory of `limit` bytes, so that neither many large bodies nor one key can take what all calls need. */
export function createBodyMemory(limit: number, nowMs = () => performance.now()): BodyMemory {
  let taken = 0;
  const takenByKey = new Map<string, number>();
  const uploads = new OrderedSet<Upload>();

  function add(keyId: string, bytes: number): void {
    taken += bytes;
    const ofKey = (takenByKey.get(keyId) ?? 0) + bytes;
    if (ofKey === 0) takenByKey.delete(keyId);
    else takenByKey.set(keyId, ofKey);
  }

  /**
   * A key may have as much as it leaves free. A single key gets half of the memory, the next one half of the rest, and
   * so on. There is always room for a new key. Switches share a buffer between their ports by this dynamic threshold.
   */
  const fits = (ofKey: number, inAll: number): boolean => ofKey <= limit - inAll;

  /** Whether so much of a key's is the cause where memory is short: it is more than half of what is taken. */
  const isCause = (ofKey: number, inAll: number): boolean => ofKey * 2 > inAll;

  /**
   * Finds the upload that has been idle for longest, among those that hold enough memory. A key that is the cause
   * itself gives up only its own uploads. Otherwise a key could end all slow uploads by taking as much memory as it
   * may.
   */
  function findStill(keyId: string, bytes: number): Upload | undefined {
    const isOwnDoing = isCause((takenByKey.get(keyId) ?? 0) + bytes, taken + bytes);
    const before = nowMs() - STILL_MS;
    let still: Upload | undefined;
    for (const upload of uploads)
      if (upload.bytes >= PROGRESS_BYTES && upload.markedAtMs <= before && (upload.keyId === keyId || !isOwnDoing))
        if (!still || upload.markedAtMs < still.markedAtMs) still = upload;
    return still;
  }

  return {
    open(keyId) {
      let own = 0;
      let isClosed = false;
      let upload: Upload | undefined;
      let endUpload: (() => void) | undefined;
      const close = (): void => {
        isClosed = true;
        endUpload?.();
        add(keyId, -own);
        own = 0;
      };
      return {
        get bytes() {
          return own;
        },
        take(bytes) {
          while (!isClosed && !fits((takenByKey.get(keyId) ?? 0) + bytes, taken + bytes)) {
            const still = findStill(keyId, bytes);
            if (!still) return false;
            still.takeBack();
          }
          if (isClosed) return false;
          add(keyId, bytes);
          own += bytes;
          if (!upload) return true;
          upload.bytes = own;
          if (own - upload.markedBytes >= PROGRESS_BYTES) {
            upload.markedAtMs = nowMs();
            upload.markedBytes = own;
          }
          return true;
        },
        giveBack(bytes) {
          if (isClosed) return;
          add(keyId, -bytes);
          own -= bytes;
        },
        couldTake: (bytes) => fits(own + bytes, own + bytes),
        refusal() {
          const ofKey = takenByKey.get(keyId) ?? 0;
          return new ApiError<MemoryFault>(isCause(ofKey, taken) ? KEY_HAS_TOO_MUCH : { kind: 'no_room_for_body' });
        },
        beginUpload(end) {
          const begun: Upload = {
            keyId,
            bytes: own,
            markedAtMs: nowMs(),
            markedBytes: own,
            takeBack() {
              close();
              end(new ApiError<MemoryFault>(KEY_HAS_TOO_MUCH));
            },
          };
          upload = begun;
          const leave = uploads.add(begun);
          endUpload = leave;
          return () => {
            leave();
            upload = undefined;
            endUpload = undefined;
          };
        },
        close,
      };
    },
  };
}

const KEY_HAS_TOO_MUCH: KeyBoundFault = {
  kind: 'key_bound_reached',
  bound: 'body_memory',
  retryAfterSeconds: RETRY_AFTER_SECONDS,
};
