import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { COSEALG, decodeClientDataJSON } from '@simplewebauthn/server/helpers';
import type { credentialSchema, newCredentialSchema } from '@turnpike/console-api/account/signIn';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { z } from 'zod';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { beginCeremony, takeCeremony } from './ceremonies.ts';
import { type LiveSession, proveSession, startSession } from './sessions.ts';

const CEREMONY_MINUTES = 5;
const TIMEOUT_MS = CEREMONY_MINUTES * 60_000;
const MAX_PASSKEYS = 20;
/** The algorithms of keys that authenticators have. The default of the library also asks the runtime for experimental algorithms. */
const ALGORITHMS = [COSEALG.EdDSA, COSEALG.ES256, COSEALG.RS256];

type NewCredential = z.output<typeof newCredentialSchema>;
type Credential = z.output<typeof credentialSchema>;

interface Dependencies {
  db: Db;
  /** The address of the account layer as browsers know it. Its host is the relying party of every passkey. */
  accountOrigin: string;
}

const relyingPartyOf = (accountOrigin: string): string => new URL(accountOrigin).hostname;

interface PasskeyRow {
  passkeyId: string;
  name: string;
  createdAt: Date;
  usedAt: Date | null;
}

const toBody = ({ passkeyId, name, createdAt, usedAt }: PasskeyRow) => ({
  passkey_id: passkeyId,
  name,
  created_at: createdAt.toISOString(),
  used_at: usedAt?.toISOString() ?? null,
});

/** Returns the options for a new passkey of the user. The authenticator refuses where it has one of theirs. */
export async function beginPasskey({ db, accountOrigin }: Dependencies, { userId, sessionId }: LiveSession) {
  const { name, emails, passkeys } = await db.user.findUniqueOrThrow({
    where: { userId },
    include: { emails: { orderBy: { verifiedAt: 'asc' }, take: 1 }, passkeys: true },
  });
  const challenge = await beginCeremony(db, 'add_passkey', { body: { sessionId }, minutes: CEREMONY_MINUTES });
  const options = await generateRegistrationOptions({
    rpName: 'Turnpike',
    rpID: relyingPartyOf(accountOrigin),
    userName: emails[0]?.address ?? name,
    userDisplayName: name,
    userID: new Uint8Array(Buffer.from(userId)),
    challenge: toBytes(challenge),
    timeout: TIMEOUT_MS,
    excludeCredentials: passkeys.map(toDescriptor),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
  return { ...options };
}

/** Adds a passkey to the user of the session that asked for its options. */
export async function addPasskey(
  { db, accountOrigin }: Dependencies,
  { userId, sessionId }: LiveSession,
  { name, credential, origin }: { name: string; credential: NewCredential; origin: Origin },
) {
  const challenge = readChallenge(credential);
  const ceremony = await takeCeremony(db, 'add_passkey', challenge);
  if (ceremony?.sessionId !== sessionId) throw refused();
  const { id: credentialId, ...key } = await verifyNew(credential, { challenge, accountOrigin });
  return db.$transaction(async (tx) => {
    await lockUser(tx, userId);
    if ((await tx.passkey.count({ where: { userId } })) >= MAX_PASSKEYS)
      throw new ApiError({ kind: 'too_many_passkeys' });
    const passkeyId = `pk_${newUuidV7()}`;
    // An authenticator makes an id anew for each passkey, so that one that is known was sent by an attacker.
    const { count } = await tx.passkey.createMany({
      data: [{ passkeyId, credentialId, userId, name, ...key }],
      skipDuplicates: true,
    });
    if (count === 0) throw refused();
    await writeAudit(tx, origin, { actor: userId, action: 'passkey.added', target: passkeyId, after: { name } });
    return toBody(await tx.passkey.findUniqueOrThrow({ where: { passkeyId } }));
  });
}

/** Returns the options for a sign-in by any passkey that the browser knows for us. */
export async function beginPasskeySignIn({ db, accountOrigin }: Dependencies) {
  const challenge = await beginCeremony(db, 'passkey', { body: {}, minutes: CEREMONY_MINUTES });
  return toRequestOptions({ challenge, accountOrigin, allowCredentials: [] });
}

/** Signs in by a passkey. Returns the session's token. */
export async function signInByPasskey(
  dependencies: Dependencies,
  credential: Credential,
  origin: Origin,
): Promise<{ userId: string; session: string }> {
  const challenge = readChallenge(credential);
  if (!(await takeCeremony(dependencies.db, 'passkey', challenge))) throw refused();
  return dependencies.db.$transaction(async (tx) => {
    const { userId } = await usePasskey(tx, { credential, challenge, accountOrigin: dependencies.accountOrigin });
    const session = await startSession(tx, userId, origin);
    await writeAudit(tx, origin, {
      actor: userId,
      action: 'session.started',
      target: userId,
      after: { by: 'passkey' },
    });
    return { userId, session };
  });
}

/** Returns the options to prove a session by a passkey of its user. */
export async function beginPasskeyStepUp({ db, accountOrigin }: Dependencies, { userId, sessionId }: LiveSession) {
  const passkeys = await db.passkey.findMany({ where: { userId } });
  const challenge = await beginCeremony(db, 'step_up_passkey', { body: { sessionId }, minutes: CEREMONY_MINUTES });
  return toRequestOptions({ challenge, accountOrigin, allowCredentials: passkeys.map(toDescriptor) });
}

/** Proves a session by a passkey of its user. Returns the session's new token. */
export async function stepUpByPasskey(
  { db, accountOrigin }: Dependencies,
  { userId, sessionId }: LiveSession,
  { credential, origin }: { credential: Credential; origin: Origin },
): Promise<string> {
  const challenge = readChallenge(credential);
  const ceremony = await takeCeremony(db, 'step_up_passkey', challenge);
  if (ceremony?.sessionId !== sessionId) throw refused();
  return db.$transaction(async (tx) => {
    const passkey = await usePasskey(tx, { credential, challenge, accountOrigin, signedIn: userId });
    const token = passkey.userId === userId ? await proveSession(tx, { sessionId, userId }) : undefined;
    if (token === undefined) throw refused();
    await writeAudit(tx, origin, {
      actor: userId,
      action: 'session.proved',
      target: sessionId,
      after: { by: 'passkey' },
    });
    return token;
  });
}

export async function listPasskeys(db: Db, userId: string) {
  return (await db.passkey.findMany({ where: { userId }, orderBy: { createdAt: 'asc' } })).map(toBody);
}

export async function renamePasskey(
  db: Db,
  { passkeyId, userId, name }: { passkeyId: string; userId: string; name: string },
  origin: Origin,
) {
  return db.$transaction(async (tx) => {
    await lockUser(tx, userId);
    const before = await tx.passkey.findFirst({ where: { passkeyId, userId } });
    if (!before) throw new ApiError({ kind: 'unknown_passkey' });
    const row = await tx.passkey.update({ where: { passkeyId }, data: { name } });
    await writeAudit(tx, origin, {
      actor: userId,
      action: 'passkey.renamed',
      target: passkeyId,
      before: { name: before.name },
      after: { name },
    });
    return toBody(row);
  });
}

/** Removes a passkey, unless the user has no other way to sign in. */
export async function removePasskey(
  db: Db,
  { passkeyId, userId }: { passkeyId: string; userId: string },
  origin: Origin,
): Promise<void> {
  await db.$transaction(async (tx) => {
    await lockUser(tx, userId);
    const passkey = await tx.passkey.findFirst({ where: { passkeyId, userId } });
    if (!passkey) throw new ApiError({ kind: 'unknown_passkey' });
    await tx.passkey.delete({ where: { passkeyId } });
    const ways = [tx.email.count({ where: { userId } }), tx.identity.count({ where: { userId } })];
    const left = await Promise.all([...ways, tx.passkey.count({ where: { userId } })]);
    if (left.every((count) => count === 0)) throw new ApiError({ kind: 'last_way_in' });
    const { name } = passkey;
    await writeAudit(tx, origin, { actor: userId, action: 'passkey.removed', target: passkeyId, before: { name } });
  });
}

/** Locks a user, so that requests that change their passkeys take turns. */
const lockUser = (tx: Tx, userId: string) =>
  tx.$queryRaw(sql`SELECT 1 AS one FROM account_user WHERE user_id = ${userId} FOR NO KEY UPDATE`);

const refused = (cause?: unknown) => new ApiError({ kind: 'passkey_refused' }, { cause });

/** Reads the challenge that the browser signed, which is the token of the ceremony. */
function readChallenge({ response }: NewCredential | Credential): string {
  try {
    return String(decodeClientDataJSON(response.clientDataJSON).challenge);
  } catch (cause) {
    throw refused(cause);
  }
}

/** Verifies a new credential. The library throws where it does not hold. */
async function verifyNew(
  credential: NewCredential,
  { challenge, accountOrigin }: { challenge: string; accountOrigin: string },
) {
  const verification = await verifyRegistrationResponse({
    response: { ...credential, clientExtensionResults: {} },
    expectedChallenge: challenge,
    expectedOrigin: accountOrigin,
    expectedRPID: relyingPartyOf(accountOrigin),
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch((cause: unknown) => {
    throw refused(cause);
  });
  if (!verification.verified) throw refused();
  const { id, publicKey, counter } = verification.registrationInfo.credential;
  return { id, publicKey, counter, transports: credential.response.transports };
}

/**
 * Verifies that a passkey signed the challenge, and counts the use. Returns the user of the passkey. An authenticator names the user. It
 * may leave the name out where the options list its credential, which is then of the `signedIn` user.
 */
async function usePasskey(
  tx: Tx,
  {
    credential,
    challenge,
    accountOrigin,
    signedIn,
  }: { credential: Credential; challenge: string; accountOrigin: string; signedIn?: string },
): Promise<{ userId: string }> {
  const passkey = await tx.passkey.findUnique({ where: { credentialId: credential.id } });
  const { userHandle, ...response } = credential.response;
  const named = userHandle ? Buffer.from(userHandle, 'base64url').toString() : signedIn;
  if (!passkey || passkey.userId !== named) throw refused();
  const { passkeyId, credentialId, userId, publicKey, counter } = passkey;
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: { ...credential, response, clientExtensionResults: {} },
    expectedChallenge: challenge,
    expectedOrigin: accountOrigin,
    expectedRPID: relyingPartyOf(accountOrigin),
    requireUserVerification: true,
    credential: { id: credentialId, publicKey, counter: Number(counter) },
  }).catch((cause: unknown) => {
    throw refused(cause);
  });
  // The second of two uses with one count finds another count.
  const { count } = await tx.passkey.updateMany({
    where: { passkeyId, counter },
    data: { counter: authenticationInfo.newCounter, usedAt: new Date() },
  });
  if (!verified || count !== 1) throw refused();
  return { userId };
}

async function toRequestOptions({
  challenge,
  accountOrigin,
  allowCredentials,
}: {
  challenge: string;
  accountOrigin: string;
  allowCredentials: ReturnType<typeof toDescriptor>[];
}) {
  const options = await generateAuthenticationOptions({
    rpID: relyingPartyOf(accountOrigin),
    challenge: toBytes(challenge),
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials,
  });
  return { ...options };
}

const toDescriptor = ({ credentialId, transports }: { credentialId: string; transports: string[] }) => ({
  id: credentialId,
  transports,
});

/** Returns the bytes that a token writes as base64url, so that the browser signs the token itself. */
const toBytes = (token: string) => new Uint8Array(Buffer.from(token, 'base64url'));
