import { createHash, randomBytes } from 'node:crypto';

/** Makes a secret of 256 random bits, as 43 characters of base64url. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** The SHA-256 under which a token is stored, in hex. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');
