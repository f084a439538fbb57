import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { z } from 'zod';

/** The private key by which one service of one scope signs its calls. */
export interface SigningKey {
  /** Scope and service: `us/auth`. The operator of a region is `us/operator`. */
  issuer: string;
  /** Names the key among all keys, with its issuer: `us/auth:k1`. */
  id: string;
  privateKey: KeyObject;
}

/** The other half of a `SigningKey`. An issuer has two while its key is rotated. */
export interface PublicKey {
  issuer: string;
  id: string;
  publicKey: KeyObject;
}

/** The bytes that DER puts before the 32 bytes of an Ed25519 key: PKCS 8 for a private one, SPKI for a public one. */
const PRIVATE_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

const KEY_PATTERN = /^([a-z]+\/[a-z-]+):([A-Za-z0-9_-]{1,32}):([A-Za-z0-9_-]{43})$/;
const FORM = 'scope/service:id:key, where the key is 32 bytes of Ed25519 in base64url';

function parseKey(text: string): { issuer: string; id: string; bytes: Buffer } | undefined {
  const [, issuer = '', id = '', key] = KEY_PATTERN.exec(text) ?? [];
  return key === undefined ? undefined : { issuer, id: `${issuer}:${id}`, bytes: Buffer.from(key, 'base64url') };
}

/** Reads `us/auth:k1:<private key>`. */
export const signingKeySchema = z.string().transform((text, context): SigningKey => {
  const parsed = parseKey(text);
  if (!parsed) {
    context.addIssue({ code: 'custom', message: `must be ${FORM}` });
    return z.NEVER;
  }
  const { issuer, id, bytes } = parsed;
  const privateKey = createPrivateKey({ key: Buffer.concat([PRIVATE_HEAD, bytes]), format: 'der', type: 'pkcs8' });
  return { issuer, id, privateKey };
});

/** Reads `us/auth:k1:<public key>,us/edge:k1:<public key>`. */
export const publicKeysSchema = z.string().transform((text, context): PublicKey[] => {
  const keys = text.split(',').map((entry) => {
    const parsed = parseKey(entry);
    if (!parsed) return undefined;
    const { issuer, id, bytes } = parsed;
    return {
      issuer,
      id,
      publicKey: createPublicKey({ key: Buffer.concat([PUBLIC_HEAD, bytes]), format: 'der', type: 'spki' }),
    };
  });
  if (keys.some((key) => key === undefined)) {
    context.addIssue({ code: 'custom', message: `must be ${FORM}; comma separated` });
    return z.NEVER;
  }
  const known = keys.filter((key) => key !== undefined);
  if (new Set(known.map(({ id }) => id)).size < known.length) {
    context.addIssue({ code: 'custom', message: 'names a key twice; only the last would ever be used' });
    return z.NEVER;
  }
  return known;
});

/** Makes a key of an issuer, as `signingKeySchema` reads it. */
export function generateSigningKey(issuer: string, id = 'k1'): string {
  const der = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' });
  return `${issuer}:${id}:${der.subarray(PRIVATE_HEAD.length).toString('base64url')}`;
}

/** The public half of a key, as `publicKeysSchema` reads it. */
export function toPublicKey(signingKey: string): string {
  const { id, privateKey } = signingKeySchema.parse(signingKey);
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return `${id}:${der.subarray(PUBLIC_HEAD.length).toString('base64url')}`;
}
