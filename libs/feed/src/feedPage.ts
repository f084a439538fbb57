import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';
import { regionSchema } from '@turnpike/config/region';
import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { signDocument, verifyDocument } from './signing.ts';

/** A page is no other kind of token that the same key signs. */
const TYPE = 'turnpike-feed+jws';
/** The most entries of a page. */
export const PAGE_ENTRIES = 500;

const sequence = z.number().int().min(1);

/** The whole document of a workspace. A region takes it where its version is higher than what it has. */
export const workspaceEntry = z.object({
  kind: z.literal('workspace'),
  seq: sequence,
  workspace_id: z.string().regex(/^ws_/),
  organization_id: z.string().regex(/^org_/),
  name: z.string().min(1).max(200),
  status: z.enum(['active', 'on_hold', 'not_provisioned']),
  monthly_cap_nano_usd: nanoUsdSchema.nullable(),
  version: z.number().int().min(1),
});
/** A credit of a workspace. Its id is credited once, however often it is repeated. */
export const creditEntry = z.object({
  kind: z.literal('credit'),
  seq: sequence,
  credit_id: z.string().min(1).max(200),
  workspace_id: z.string().regex(/^ws_/),
  nano_usd: nanoUsdSchema,
  note: z.string().max(200),
});
/** Credit that the account layer wants back for a refund. A region takes what is unspent of it, and reports that once. */
export const takeBackEntry = z.object({
  kind: z.literal('take_back'),
  seq: sequence,
  take_back_id: z.string().min(1).max(150),
  workspace_id: z.string().regex(/^ws_/),
  nano_usd: nanoUsdSchema,
  /** The credit of one cent: a multiple of it is taken. */
  unit_nano_usd: nanoUsdSchema,
});
export const feedEntry = z.discriminatedUnion('kind', [workspaceEntry, creditEntry, takeBackEntry]);
export type FeedEntry = z.infer<typeof feedEntry>;

/** Part of a region's feed: the entries behind `after`, in their order, none left out. */
export const feedPage = z
  .object({
    region: regionSchema,
    /** The life of the account database. Another one means that it was restored. */
    epoch: z.string().min(1),
    after: z.number().int().min(0),
    /** The highest sequence of the feed. Lower than `after` means that the account database was restored. */
    last: z.number().int().min(0),
    /** Hashes over all entries up to `after`, and up to the last entry of the page. Undefined from a control plane of before. */
    chain: z.object({ before: z.string(), end: z.string() }).optional(),
    entries: z.array(feedEntry).max(PAGE_ENTRIES),
  })
  .refine(({ after, entries }) => entries.every(({ seq }, index) => seq === after + index + 1), 'leaves out an entry');
export type FeedPage = z.infer<typeof feedPage>;

/** Signs a page, as JWS in its compact form. */
export const signPage = (page: z.input<typeof feedPage>, key: SigningKey): Promise<string> =>
  signDocument(page, TYPE, key);

/** Returns the page of a region as it was signed. Throws where it is of another key, another region, another place, or not whole. */
export async function verifyPage(
  signed: string,
  { keys, region, after }: { keys: PublicKey[]; region: FeedPage['region']; after: number },
): Promise<FeedPage> {
  const page = feedPage.parse(await verifyDocument(signed, TYPE, keys));
  if (page.region !== region) throw new Error(`the page is of the region ${page.region}`);
  if (page.after !== after) throw new Error(`the page begins behind ${page.after}, not behind ${after}`);
  return page;
}
