import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db } from '../database/openDatabase.ts';
import type { Outbox } from '../mail/outbox.ts';
import { beginCeremony, takeCeremony } from './ceremonies.ts';
import { type LiveSession, proveSession, startSession } from './sessions.ts';
import { createUser, lockWayIn } from './users.ts';

const LINK_MINUTES = 15;

/** Mails a link that signs in. The token stands behind `#`, so that no server and no scanner of mails takes it by opening the link. */
export async function mailSignInLink({ db, outbox }: { db: Db; outbox: Outbox }, address: string): Promise<void> {
  await db.$transaction(async (tx) => {
    const token = await beginCeremony(tx, 'link', { body: { address }, minutes: LINK_MINUTES });
    await outbox.post(tx, { template: 'sign_in', address, data: { path: `/sign-in#${token}` } });
  });
}

/** Signs in by the token of a mailed link. Returns the session's token. */
export async function signInByLink(
  db: Db,
  token: string,
  origin: Origin,
): Promise<{ userId: string; session: string }> {
  return db.$transaction(async (tx) => {
    const ceremony = await takeCeremony(tx, 'link', token);
    if (!ceremony) throw new ApiError({ kind: 'link_is_over' });
    const { address } = ceremony;
    await lockWayIn(tx, address);
    const known = await tx.email.findUnique({ where: { address } });
    const userId = known?.userId ?? (await createUser(tx, { address }, origin));
    const session = await startSession(tx, userId, origin);
    await writeAudit(tx, origin, { actor: userId, action: 'session.started', target: userId, after: { by: 'link' } });
    return { userId, session };
  });
}

/** Mails a link that proves a session anew, to an address of its user. */
export async function mailStepUpLink(
  { db, outbox }: { db: Db; outbox: Outbox },
  { userId }: LiveSession,
  address: string,
): Promise<void> {
  await db.$transaction(async (tx) => {
    const known = await tx.email.findUnique({ where: { address } });
    if (known?.userId !== userId) throw new ApiError({ kind: 'unknown_address' });
    const token = await beginCeremony(tx, 'step_up_link', { body: { userId }, minutes: LINK_MINUTES });
    await outbox.post(tx, { template: 'step_up', address, data: { path: `/step-up#${token}` } });
  });
}

/** Proves a session by the token of a mailed link. Returns the session's new token. */
export async function stepUpByLink(db: Db, session: LiveSession, token: string, origin: Origin): Promise<string> {
  return db.$transaction(async (tx) => {
    const ceremony = await takeCeremony(tx, 'step_up_link', token);
    const renewed = ceremony?.userId === session.userId ? await proveSession(tx, session) : undefined;
    if (renewed === undefined) throw new ApiError({ kind: 'link_is_over' });
    const { userId, sessionId } = session;
    await writeAudit(tx, origin, { actor: userId, action: 'session.proved', target: sessionId, after: { by: 'link' } });
    return renewed;
  });
}
