import { sql } from '@turnpike/postgres/sql';
import { z } from 'zod';
import type { Tx } from '../database/openDatabase.ts';
import type { Prisma } from '../generated/client.ts';
import { hashToken, newToken } from './sessions.ts';

const linkBody = z.object({ address: z.string() });
const stepUpBody = z.object({ userId: z.string() });
/** The session that adds a passkey or is proved by one. */
const ofSession = z.object({ sessionId: z.string() });
const oidcBody = z.object({
  providerId: z.string(),
  verifier: z.string(),
  nonce: z.string(),
  /** The hash of the cookie of the browser that began. */
  browserHash: z.string(),
  intent: z.enum(['sign_in', 'link', 'step_up']),
  /** When the ceremony began, ms since 1970. */
  begunAt: z.number(),
  /** The session that a link or a step-up began with. */
  sessionId: z.string().nullable(),
});

/** A sign-in under way, by its kind: a token of one kind is none of another. */
const BODIES = {
  link: linkBody,
  step_up_link: stepUpBody,
  oidc: oidcBody,
  add_passkey: ofSession,
  passkey: z.object({}),
  step_up_passkey: ofSession,
};
type Kind = keyof typeof BODIES;
export type CeremonyBody<K extends Kind> = z.infer<(typeof BODIES)[K]>;

/** Begins a ceremony and returns its token, of which the database has the hash alone. */
export async function beginCeremony<K extends Kind>(
  tx: Tx,
  kind: K,
  { body, minutes, token = newToken() }: { body: CeremonyBody<K>; minutes: number; token?: string },
): Promise<string> {
  const endsAt = new Date(Date.now() + minutes * 60_000);
  await tx.ceremony.create({
    data: { kind, tokenHash: hashToken(token), body: body as Prisma.InputJsonObject, endsAt },
  });
  return token;
}

/** Ends a ceremony and returns its body. Undefined where the token is unknown, was taken before, is too old or of another kind. */
export async function takeCeremony<K extends Kind>(
  tx: Tx,
  kind: K,
  token: string,
): Promise<CeremonyBody<K> | undefined> {
  const [row] = await tx.$queryRaw<{ body: unknown; is_live: boolean }[]>(sql`
    DELETE FROM ceremony WHERE kind = ${kind} AND token_hash = ${hashToken(token)} RETURNING body, ends_at > now() AS is_live`);
  return row?.is_live ? (BODIES[kind].parse(row.body) as CeremonyBody<K>) : undefined;
}

/** Removes ceremonies whose time is over. */
export async function removeOverdueCeremonies(tx: Tx): Promise<void> {
  await tx.ceremony.deleteMany({ where: { endsAt: { lt: new Date() } } });
}
