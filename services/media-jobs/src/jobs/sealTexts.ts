import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';

/** The texts of a client that a job needs. */
const textsSchema = z.object({
  prompt: z.string().optional(),
  input: z.string().optional(),
  instructions: z.string().optional(),
});
export type JobTexts = z.output<typeof textsSchema>;

const CIPHER = 'aes-256-gcm';
export const TEXT_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const makeTextKey = (): Buffer => randomBytes(TEXT_KEY_BYTES);

/** Encrypts a job's texts: nonce, tag, then the text. Bound to the job's id, so that it opens in no other row. */
export function sealTexts(texts: JobTexts, { key, jobId }: { key: Buffer; jobId: string }): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(jobId));
  const sealed = Buffer.concat([cipher.update(JSON.stringify(texts), 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Throws where key or row are not what they were. */
export function openTexts(sealed: Uint8Array, { key, jobId }: { key: Buffer; jobId: string }): JobTexts {
  const bytes = Buffer.from(sealed);
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(jobId));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  return textsSchema.parse(JSON.parse(text.toString('utf8')));
}
