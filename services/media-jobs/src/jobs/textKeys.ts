import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { z } from 'zod';
import { textKeyOf } from './jobNames.ts';

/** Texts of a client that a job needs. */
const textsSchema = z.object({
  prompt: z.string().optional(),
  input: z.string().optional(),
  instructions: z.string().optional(),
});
type JobTexts = z.output<typeof textsSchema>;

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Keys in memory, because a client polls its job once a second, and each answer shows the prompt. */
const MAX_KEYS = 2_000;

/**
 * Texts of jobs: ciphertext in their rows, and the key of each job as an object beside its outputs. The object is neither versioned nor
 * backed up.
 */
export interface TextKeys {
  /** Stores a new key, and returns the texts as the row holds them. Rejects with an `ObjectStoreError`. */
  seal(jobId: string, texts: JobTexts): Promise<Buffer>;
  /** Rejects with an `ObjectStoreError`, `missing` if the key was removed. */
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
      const key = randomBytes(KEY_BYTES);
      await store.put(textKeyOf(jobId), Readable.from([key]), {
        contentType: 'application/octet-stream',
        maxBytes: KEY_BYTES,
        bytes: KEY_BYTES,
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

/** Encrypts a job's texts: nonce, tag, then the text. The ciphertext is bound to the job's id, so that no other row opens it. */
function sealTexts(texts: JobTexts, { key, jobId }: { key: Buffer; jobId: string }): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(jobId));
  const sealed = Buffer.concat([cipher.update(JSON.stringify(texts), 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Throws if the key or the row was changed. */
function openTexts(sealed: Uint8Array, { key, jobId }: { key: Buffer; jobId: string }): JobTexts {
  const bytes = Buffer.from(sealed);
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(jobId));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  return textsSchema.parse(JSON.parse(text.toString('utf8')));
}
