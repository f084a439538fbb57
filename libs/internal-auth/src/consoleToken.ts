import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';
import type { Region } from '@turnpike/config/region';
import { jwtVerify, SignJWT } from 'jose';
import { isInForce, readSignedText, signText } from './signedText.ts';

/** The service that signs console tokens, by the name that its keys bear. */
const ISSUER = 'global/control-plane';
const ALGORITHM = 'EdDSA';
/** Tells a console token from other tokens that the same key signs. */
const TYPE = 'console+jwt';
const LIFETIME_S = 5 * 60;
/** Difference between the clocks of the control plane and a region. A token may be of so much later. */
const CLOCK_SKEW_S = 60;

/** A member who calls the console host of a region, for one workspace. */
export interface ConsoleCaller {
  userId: string;
  organizationId: string;
  workspaceId: string;
  role: string;
}

/** Signs a token for the console host of a region. The token is valid for 5 minutes. */
export async function signConsoleToken(
  { userId, organizationId, workspaceId, role }: ConsoleCaller,
  { region, key, now }: { region: Region; key: SigningKey; now: Date },
): Promise<{ token: string; endsAt: Date }> {
  const issuedAt = Math.floor(now.getTime() / 1_000);
  const token = await new SignJWT({ organization_id: organizationId, workspace_id: workspaceId, role })
    .setProtectedHeader({ alg: ALGORITHM, kid: key.id, typ: TYPE })
    .setIssuer(key.issuer)
    .setAudience(`console:${region}`)
    .setSubject(userId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + LIFETIME_S)
    .sign(key.privateKey);
  return { token, endsAt: new Date((issuedAt + LIFETIME_S) * 1_000) };
}

/** Returns the caller that a token names. Throws if the control plane did not sign the token for this region, or if it has expired. */
export async function verifyConsoleToken(
  token: string,
  { region, keys, now }: { region: Region; keys: PublicKey[]; now: Date },
): Promise<ConsoleCaller> {
  const { payload } = await jwtVerify(
    token,
    ({ kid }) => {
      const key = keys.find(({ id, issuer }) => id === kid && issuer === ISSUER);
      if (!key) throw new Error(`the token is signed by ${kid ?? 'no key'}, which is no key of ${ISSUER}`);
      return key.publicKey;
    },
    {
      issuer: ISSUER,
      audience: `console:${region}`,
      algorithms: [ALGORITHM],
      typ: TYPE,
      requiredClaims: ['sub', 'organization_id', 'workspace_id', 'role', 'exp', 'iat'],
      clockTolerance: CLOCK_SKEW_S,
      maxTokenAge: LIFETIME_S,
      currentDate: now,
    },
  );
  const { sub, organization_id, workspace_id, role, exp } = payload;
  // The tolerance above is for the beginning of a token. It lengthens none.
  if (Number(exp) * 1_000 <= now.getTime()) throw new Error('the token has expired');
  return {
    userId: String(sub),
    organizationId: String(organization_id),
    workspaceId: String(workspace_id),
    role: String(role),
  };
}

/** Header in which the edge names the caller of a console route to the service behind. */
export const CONSOLE_CALLER_HEADER = 'x-turnpike-console-caller';
const MAX_HEADER_LENGTH = 2_048;

/** Signs the header's value for one route, as method and path declare it. The value is valid for 30 s. */
export const signConsoleCaller = (
  caller: ConsoleCaller,
  route: string,
  { key, now = Date.now }: { key: SigningKey; now?: () => number },
): string => signText('console', Buffer.from(JSON.stringify({ route, caller })).toString('base64url'), { key, now });

/** Returns the caller that an edge names in the header, or undefined if no edge signed it for this route. */
export function verifyConsoleCaller(
  value: unknown,
  route: string,
  { keys, now = Date.now }: { keys: PublicKey[]; now?: () => number },
): ConsoleCaller | undefined {
  if (typeof value !== 'string' || value.length > MAX_HEADER_LENGTH) return undefined;
  const found = readSignedText('console', value, keys);
  if (!found || !isInForce(found.expiresAt, now())) return undefined;
  const signed = JSON.parse(Buffer.from(found.text, 'base64url').toString()) as {
    route: string;
    caller: ConsoleCaller;
  };
  return signed.route === route ? signed.caller : undefined;
}
