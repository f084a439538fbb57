import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BYTES = 16;
/** Most digits of 128 bits. */
const DIGITS = 22;

/** Returns an id of 128 random bits, which no client can guess. */
export function makeJobId(prefix: 'video' | 'job'): string {
  let rest = BigInt(`0x${randomBytes(BYTES).toString('hex')}`);
  let digits = '';
  for (let place = 0; place < DIGITS; place += 1) {
    digits = ALPHABET[Number(rest % 62n)] + digits;
    rest /= 62n;
  }
  return `${prefix}_${digits}`;
}

/** Folder of all objects of a job: a listing of the folder shows what is left of the job. */
export const folderOf = (jobId: string): string => `jobs/${jobId}/`;
/** Object with the key of the texts. Its removal destroys the texts in every backup. */
export const textKeyOf = (jobId: string): string => `${folderOf(jobId)}text.key`;
export const inputKeyOf = (jobId: string, extension: string): string => `${folderOf(jobId)}input.${extension}`;

/** Returns the key of an output for one attempt at storing it, so that a late worker overwrites nothing. */
export const outputKeyOf = (
  jobId: string,
  { version, tries, index, extension }: { version: number; tries: number; index: number; extension: string },
): string => `${folderOf(jobId)}${version}-${tries}/${index}.${extension}`;
