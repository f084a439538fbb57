import { createHash } from 'node:crypto';
import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';
import { regionSchema } from '@turnpike/config/region';
import { z } from 'zod';
import { signDocument, verifyDocument } from './signing.ts';

/** A digest is no other kind of token that the same key signs. */
const TYPE = 'turnpike-feed-digest+jws';
/** The most workspaces of a digest. */
export const DIGEST_WORKSPACES = 200;

/** The state of a workspace by which its region admits calls, on the account layer's side. */
export interface WorkspaceState {
  workspaceId: string;
  organizationId: string;
  status: string | null;
  monthlyCapNanoUsd: bigint | null;
}

/** Hashes of the workspaces of a region behind an id, as they were after the last entry of the feed. */
const feedDigest = z.object({
  region: regionSchema,
  /** The life of the account database. */
  epoch: z.string().min(1),
  /** The highest sequence of the feed in the same snapshot. */
  last: z.number().int().min(0),
  after: z.string(),
  /** Workspaces in the order of their ids, none left out. */
  workspaces: z
    .array(z.object({ workspace_id: z.string(), hash: z.string().regex(/^[0-9a-f]{64}$/) }))
    .max(DIGEST_WORKSPACES),
});
export type FeedDigest = z.infer<typeof feedDigest>;

/** Returns the SHA-256 of a state. Names are left out, because they admit and refuse nothing. */
export const hashState = ({ workspaceId, organizationId, status, monthlyCapNanoUsd }: WorkspaceState): string =>
  createHash('sha256')
    .update(JSON.stringify([workspaceId, organizationId, status, monthlyCapNanoUsd?.toString() ?? null]))
    .digest('hex');

/** Signs a digest, as JWS in its compact form. */
export const signDigest = (digest: FeedDigest, key: SigningKey): Promise<string> => signDocument(digest, TYPE, key);

/** Returns the digest of a region as it was signed. Throws where it is of another key, another region, another place, or not whole. */
export async function verifyDigest(
  signed: string,
  { keys, region, after }: { keys: PublicKey[]; region: FeedDigest['region']; after: string },
): Promise<FeedDigest> {
  const digest = feedDigest.parse(await verifyDocument(signed, TYPE, keys));
  if (digest.region !== region) throw new Error(`the digest is of the region ${digest.region}`);
  if (digest.after !== after) throw new Error(`the digest begins behind "${digest.after}", not behind "${after}"`);
  return digest;
}
