import type { UserBody } from '@turnpike/console-api/account/signIn';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { sql } from '@turnpike/postgres/sql';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';

/** Makes sign-ins by one address or one identity take turns until they commit, so that only the first one makes the user. */
export const lockWayIn = (tx: Tx, way: string) =>
  tx.$queryRaw(sql`SELECT 1 AS one FROM pg_advisory_xact_lock(hashtext(${way}))`);

/** Makes a user with an address that they have proved to read. */
export async function createUser(
  tx: Tx,
  { address, name = nameOf(address) }: { address: string; name?: string | undefined },
  origin: Origin,
): Promise<string> {
  const userId = `user_${newUuidV7()}`;
  await tx.user.create({ data: { userId, name, emails: { create: { address } } } });
  await writeAudit(tx, origin, { actor: userId, action: 'user.created', target: userId, after: { address } });
  return userId;
}

/** A user as they see themselves. */
export async function readUser(db: Db | Tx, userId: string): Promise<UserBody> {
  const { name, emails } = await db.user.findUniqueOrThrow({
    where: { userId },
    include: { emails: { orderBy: { verifiedAt: 'asc' } } },
  });
  return { user_id: userId, name, addresses: emails.map(({ address }) => address) };
}

const nameOf = (address: string): string => address.slice(0, address.indexOf('@'));
