import { createHash, randomBytes } from 'node:crypto';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import type { Origin } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';

/** Makes a secret of 256 random bits, as 43 characters of base64url. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** The SHA-256 under which a token is stored, in hex. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** A user who is signed in. */
export interface LiveSession {
  sessionId: string;
  userId: string;
  /** When the user last proved who they are. */
  provedAt: Date;
}

const HOUR_MS = 3_600_000;
const IDLE_MS = 12 * HOUR_MS;
const LONGEST_MS = 7 * 24 * HOUR_MS;
/** `seen_at` is written at most so often. */
const SEEN_STEP_MS = 60_000;
const MAX_BROWSER_LENGTH = 200;

/** Starts a session and returns its token, for the cookie. The database has the hash alone. */
export async function startSession(tx: Tx, userId: string, { address, browser }: Origin): Promise<string> {
  const token = newToken();
  await tx.session.create({
    data: {
      tokenHash: hashToken(token),
      sessionId: `ses_${newUuidV7()}`,
      userId,
      endsAt: new Date(Date.now() + LONGEST_MS),
      address,
      browser: browser.slice(0, MAX_BROWSER_LENGTH),
    },
  });
  return token;
}

/** Gives a session a new token and counts it as proved from now on. Returns undefined where the session has ended. */
export async function proveSession(
  tx: Tx,
  { sessionId, userId }: { sessionId: string; userId: string },
): Promise<string | undefined> {
  const token = newToken();
  const { count } = await tx.session.updateMany({
    where: { sessionId, userId, endsAt: { gt: new Date() } },
    data: { tokenHash: hashToken(token), provedAt: new Date() },
  });
  return count === 1 ? token : undefined;
}

/** Finds the session of a cookie. Undefined where it has ended: signed out, 12 h idle, or 7 days old. */
export async function findSession(db: Db, token: string): Promise<LiveSession | undefined> {
  const tokenHash = hashToken(token);
  const now = Date.now();
  const session = await db.session.findUnique({ where: { tokenHash } });
  if (!session || session.endsAt.getTime() <= now || session.seenAt.getTime() <= now - IDLE_MS) return undefined;
  if (session.seenAt.getTime() <= now - SEEN_STEP_MS)
    await db.session.updateMany({ where: { tokenHash }, data: { seenAt: new Date(now) } });
  const { sessionId, userId, provedAt } = session;
  return { sessionId, userId, provedAt };
}

/** Lists the sessions of a user that have not ended, the newest first. */
export async function listSessions(db: Db, userId: string) {
  const now = Date.now();
  return db.session.findMany({
    where: { userId, endsAt: { gt: new Date(now) }, seenAt: { gt: new Date(now - IDLE_MS) } },
    orderBy: { createdAt: 'desc' },
    take: 100,
  });
}

/** Ends a session of a user. Says whether there was one. */
export async function endSession(tx: Tx, where: { sessionId: string; userId: string }): Promise<boolean> {
  const { count } = await tx.session.deleteMany({ where });
  return count === 1;
}

/** Removes the rows of sessions that have ended by their time. */
export async function removeEndedSessions(tx: Tx): Promise<void> {
  const now = Date.now();
  await tx.session.deleteMany({
    where: { OR: [{ endsAt: { lt: new Date(now) } }, { seenAt: { lt: new Date(now - IDLE_MS) } }] },
  });
}
