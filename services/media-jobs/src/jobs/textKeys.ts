import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { textKeyOf } from './objectKeys.ts';
import { type JobTexts, makeTextKey, openTexts, sealTexts, TEXT_KEY_BYTES } from './sealTexts.ts';

/** Keys that are remembered: a client asks for its job once a second, and each answer shows the prompt. */
const MAX_KEYS = 2_000;

/** The texts of jobs: ciphertext in their rows, each job's key as an object beside its outputs, which is neither versioned nor backed up. */
export interface TextKeys {
  /** Stores a new key, and gives the texts as they may stand in the row. Rejects with an `ObjectStoreError`. */
  seal(jobId: string, texts: JobTexts): Promise<Buffer>;
  /** Rejects with an `ObjectStoreError`, `missing` where they were removed. */
  open(job: { jobId: string; sealedTexts: Uint8Array | null }): Promise<JobTexts>;
  forget(jobId: string): void;
}

export function createTextKeys(store: Pick<ObjectStore, 'put' | 'get'>): TextKeys {
  const keys = new Map<string, Buffer>();
  function remember(jobId: string, key: Buffer): void {
    keys.delete(jobId);
    keys.set(jobId, key);
    const [oldest] = keys.keys();
    if (keys.size > MAX_KEYS && oldest !== undefined) keys.delete(oldest);
  }
  async function read(jobId: string): Promise<Buffer> {
    const { content } = await store.get(textKeyOf(jobId));
    return buffer(content);
  }
  return {
    async seal(jobId, texts) {
      const key = makeTextKey();
      await store.put(textKeyOf(jobId), Readable.from([key]), {
        contentType: 'application/octet-stream',
        maxBytes: TEXT_KEY_BYTES,
        bytes: TEXT_KEY_BYTES,
      });
      remember(jobId, key);
      return sealTexts(texts, { key, jobId });
    },
    async open({ jobId, sealedTexts }) {
      if (!sealedTexts) return {};
      const key = keys.get(jobId) ?? (await read(jobId));
      remember(jobId, key);
      return openTexts(sealedTexts, { key, jobId });
    },
    forget: (jobId) => void keys.delete(jobId),
  };
}
