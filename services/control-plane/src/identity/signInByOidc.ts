import type { SignInError } from '@turnpike/console-api/pages';
import { ApiError } from '@turnpike/public-api/apiError';
import { buildAuthorizationUrl, calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier } from 'openid-client';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { beginCeremony, type CeremonyBody, takeCeremony } from './ceremonies.ts';
import type { Provider } from './providers.ts';
import { type Claims, readClaims } from './readClaims.ts';
import { hashToken, type LiveSession, newToken, proveSession, startSession } from './sessions.ts';
import { createUser, lockWayIn } from './users.ts';

const CEREMONY_MINUTES = 10;
/** The path to which a provider sends browsers back: one for each, so that no provider gets the code of another one. */
export const RETURN_PATH = '/account/sign-in/oidc/return/:provider_id';
const toReturnPath = (providerId: string): string => RETURN_PATH.replace(':provider_id', providerId);
/** The clock of a provider may be so far behind ours, with the part of a second that it leaves out. */
const CLOCK_SKEW_MS = 5_000;

export class OidcRefused extends Error {
  readonly reason: SignInError;

  constructor(reason: SignInError, options?: ErrorOptions) {
    super(reason, options);
    this.reason = reason;
  }
}

interface Dependencies {
  db: Db;
  providers: Provider[];
  /** The address of the account layer as browsers know it. */
  accountOrigin: string;
}

/**
 * Begins a sign-in at a provider. Returns the page to go to, and the secret for a cookie that ties the ceremony to this browser.
 * Without the cookie, a link could sign a user in as another user.
 */
export async function beginOidc(
  { db, providers, accountOrigin }: Dependencies,
  {
    providerId,
    intent,
    session,
  }: { providerId: string; intent: CeremonyBody<'oidc'>['intent']; session?: LiveSession },
): Promise<{ url: string; browserToken: string }> {
  const provider = providers.find(({ id }) => id === providerId);
  if (!provider) throw new ApiError({ kind: 'unknown_provider' });
  const configuration = await provider.configuration().catch((cause: unknown) => {
    throw new ApiError({ kind: 'provider_away' }, { cause });
  });
  const verifier = randomPKCECodeVerifier();
  const nonce = randomNonce();
  const browserToken = newToken();
  const body = {
    providerId,
    verifier,
    nonce,
    browserHash: hashToken(browserToken),
    intent,
    begunAt: Date.now(),
    sessionId: session?.sessionId ?? null,
  };
  const state = await beginCeremony(db, 'oidc', { body, minutes: CEREMONY_MINUTES });
  const url = buildAuthorizationUrl(configuration, {
    redirect_uri: accountOrigin + toReturnPath(providerId),
    scope: 'openid email profile',
    response_type: 'code',
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
    ...(intent === 'step_up' && { max_age: '0' }),
  });
  return { url: url.href, browserToken };
}

/**
 * Ends a sign-in with what the provider sent the browser back with. Returns the token of a new or proved session; undefined where an
 * identity was linked, which changes no session. Throws `OidcRefused` where it came to nothing.
 */
export async function endOidc(
  { db, providers, accountOrigin }: Dependencies,
  { returnUrl, browserToken }: { returnUrl: string; browserToken: string | undefined },
  origin: Origin,
): Promise<string | undefined> {
  const currentUrl = new URL(returnUrl, accountOrigin);
  const state = currentUrl.searchParams.get('state') ?? '';
  const ceremony = await takeCeremony(db, 'oidc', state);
  if (!ceremony || browserToken === undefined || hashToken(browserToken) !== ceremony.browserHash)
    throw new OidcRefused('sign_in_is_over');
  if (currentUrl.pathname !== toReturnPath(ceremony.providerId)) throw new OidcRefused('provider_refused');
  const claims = await redeemClaims(providers, ceremony, { currentUrl, state });
  return db.$transaction(async (tx) => {
    await lockWayIn(tx, `${claims.iss} ${claims.sub}`);
    if (ceremony.intent === 'sign_in') return signIn(tx, claims, origin);
    return useInSession(tx, { claims, ceremony }, origin);
  });
}

async function redeemClaims(
  providers: Provider[],
  { providerId, verifier, nonce, intent, begunAt }: CeremonyBody<'oidc'>,
  { currentUrl, state }: { currentUrl: URL; state: string },
): Promise<Claims> {
  try {
    const provider = providers.find(({ id }) => id === providerId);
    if (!provider) throw new Error(`the identity provider ${providerId} is gone from the settings`);
    const tokens = await provider.redeem(currentUrl, {
      pkceCodeVerifier: verifier,
      expectedNonce: nonce,
      expectedState: state,
      idTokenExpected: true,
      ...(intent === 'step_up' && { maxAge: 0 }),
    });
    const claims = readClaims(tokens.claims());
    // A browser could leave `max_age` out of the address, and the grant takes 30 s for no time.
    if (intent === 'step_up' && (claims.auth_time ?? 0) * 1_000 < begunAt - CLOCK_SKEW_MS)
      throw new Error('the provider did not ask the user anew');
    return claims;
  } catch (cause) {
    throw new OidcRefused('provider_refused', { cause });
  }
}

/** An address counts where the provider has verified it. One that is another user's never joins the two by itself. */
async function signIn(tx: Tx, { iss: issuer, sub: subject, ...claims }: Claims, origin: Origin): Promise<string> {
  const known = await tx.identity.findUnique({ where: { issuer_subject: { issuer, subject } } });
  const userId = known?.userId ?? (await welcome(tx, { issuer, subject, ...claims }, origin));
  const session = await startSession(tx, userId, origin);
  await writeAudit(tx, origin, { actor: userId, action: 'session.started', target: userId, after: { by: issuer } });
  return session;
}

async function welcome(
  tx: Tx,
  {
    issuer,
    subject,
    email,
    email_verified: isVerified,
    name,
  }: { issuer: string; subject: string } & Omit<Claims, 'iss' | 'sub'>,
  origin: Origin,
): Promise<string> {
  if (email === undefined || isVerified !== true) throw new OidcRefused('address_not_verified');
  await lockWayIn(tx, email);
  if (await tx.email.findUnique({ where: { address: email } })) throw new OidcRefused('sign_in_and_link_instead');
  const userId = await createUser(tx, { address: email, name }, origin);
  await tx.identity.create({ data: { issuer, subject, userId } });
  return userId;
}

async function useInSession(
  tx: Tx,
  { claims: { iss: issuer, sub: subject }, ceremony }: { claims: Claims; ceremony: CeremonyBody<'oidc'> },
  origin: Origin,
): Promise<string | undefined> {
  const sessionId = ceremony.sessionId ?? '';
  const session = await tx.session.findUnique({ where: { sessionId, endsAt: { gt: new Date() } } });
  if (!session) throw new OidcRefused('sign_in_is_over');
  const { userId } = session;
  const known = await tx.identity.findUnique({ where: { issuer_subject: { issuer, subject } } });
  if (ceremony.intent === 'link') {
    if (known && known.userId !== userId) throw new OidcRefused('identity_is_taken');
    if (known) return undefined;
    await tx.identity.create({ data: { issuer, subject, userId } });
    await writeAudit(tx, origin, { actor: userId, action: 'identity.linked', target: userId, after: { issuer } });
    return undefined;
  }
  if (known?.userId !== userId) throw new OidcRefused('another_user');
  const token = await proveSession(tx, { sessionId, userId });
  if (token === undefined) throw new OidcRefused('sign_in_is_over');
  await writeAudit(tx, origin, { actor: userId, action: 'session.proved', target: sessionId, after: { by: issuer } });
  return token;
}
