import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { type ProviderUser, signInAt } from '@turnpike/test-support/signInAt';
import { until } from '@turnpike/test-support/until';
import * as client from 'openid-client';
import { type IdentityProvider, startIdentityProvider } from '../src/startIdentityProvider.ts';

const SECRET = 'the-secret-of-the-client-of-this-test';
const REDIRECT_URI = 'http://localhost:26999/account/sign-in/oidc/return';
const CLIENTS = [{ client_id: 'turnpike', client_secret: SECRET, redirect_uris: [REDIRECT_URI] }];

let provider: IdentityProvider;
beforeAll(async () => {
  const port = await findFreePort();
  provider = await startIdentityProvider({ listenHost: '127.0.0.1', port, clients: CLIENTS, log: aSilentLogger() });
});
afterAll(() => provider.close());

const discover = (auth?: client.ClientAuth, secret = SECRET) =>
  client.discovery(new URL(provider.issuer), 'turnpike', secret, auth, { execute: [client.allowInsecureRequests] });

interface Asked {
  user: ProviderUser;
  cookies?: Map<string, string>;
  parameters?: Record<string, string>;
}

/** Signs in with the client that the account layer has, up to the address to which the provider leads back. */
async function authorize({ user, cookies = new Map(), parameters = {} }: Asked) {
  const config = await discover();
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid email profile',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: 'the-state',
    ...parameters,
  });
  return { config, pkceCodeVerifier, back: await signInAt(url, { user, cookies }) };
}

async function claimsOf(asked: Asked, checks: client.AuthorizationCodeGrantChecks = {}) {
  const { config, pkceCodeVerifier, back } = await authorize(asked);
  const tokens = await client.authorizationCodeGrant(config, back, {
    pkceCodeVerifier,
    expectedState: 'the-state',
    ...checks,
  });
  return tokens.claims();
}

/** Signs in, and waits until the second of `auth_time` is past. */
async function signedInBefore(user: ProviderUser) {
  const cookies = new Map<string, string>();
  const claims = await claimsOf({ user, cookies });
  const authTime = claims?.auth_time as number;
  await until('the next second', () => Date.now() / 1_000 > authTime + 2);
  return { cookies, authTime };
}

it.each([
  ['ada', 'Ada', true],
  ['ben', 'Ben', false],
  ['cleo', 'Cleo', true],
] as const)('signs %s in by one click, with the address in the ID token', async (user, name, isVerified) => {
  const now = Math.floor(Date.now() / 1_000);
  const claims = await claimsOf({ user });
  expect(claims).toMatchObject({
    iss: provider.issuer,
    aud: 'turnpike',
    sub: user,
    name,
    email: `${user}@example.com`,
    email_verified: isVerified,
  });
  expect(claims?.auth_time).toBeGreaterThanOrEqual(now);
});

it('gives the same claims as user info, and takes the secret in the header as well', async () => {
  const { back, pkceCodeVerifier } = await authorize({ user: 'ada' });
  const config = await discover(client.ClientSecretBasic(SECRET));
  const tokens = await client.authorizationCodeGrant(config, back, { pkceCodeVerifier, expectedState: 'the-state' });
  expect(await client.fetchUserInfo(config, tokens.access_token, 'ada')).toEqual({
    sub: 'ada',
    name: 'Ada',
    email: 'ada@example.com',
    email_verified: true,
  });
});

it('remembers the user, and asks again only where the client wants a fresh sign-in', async () => {
  const { cookies, authTime } = await signedInBefore('ada');

  expect(await claimsOf({ user: 'cancel', cookies })).toMatchObject({ sub: 'ada', auth_time: authTime });
  const fresh = await claimsOf({ user: 'ada', cookies, parameters: { max_age: '0' } }, { maxAge: 0 });
  expect(fresh?.auth_time).toBeGreaterThan(authTime);
});

it.each(['login', 'select_account'])('lets another user sign in with prompt=%s', async (prompt) => {
  const cookies = new Map<string, string>();
  await claimsOf({ user: 'ada', cookies });
  expect(await claimsOf({ user: 'ben', cookies, parameters: { prompt } })).toMatchObject({ sub: 'ben' });
  expect(await claimsOf({ user: 'cancel', cookies })).toMatchObject({ sub: 'ben' });
});

it('leads back with access_denied where the user cancels', async () => {
  const { back } = await authorize({ user: 'cancel' });
  expect(Object.fromEntries(back.searchParams)).toMatchObject({ error: 'access_denied', state: 'the-state' });
});

it('wants PKCE', async () => {
  const config = await discover();
  const url = client.buildAuthorizationUrl(config, { redirect_uri: REDIRECT_URI, scope: 'openid' });
  const back = await signInAt(url, { user: 'ada' });
  expect(back.searchParams.get('error')).toBe('invalid_request');
  await expect(
    authorize({ user: 'ada', parameters: { code_challenge_method: 'plain' } }).then(({ back: { search } }) => search),
  ).resolves.toContain('error=invalid_request');
});

it('leads to no address that the client has not registered', async () => {
  await expect(authorize({ user: 'ada', parameters: { redirect_uri: 'http://localhost:1/' } })).rejects.toThrow(
    /answered 400: [\s\S]*redirect_uri/,
  );
});

it.each([
  ['another secret', async () => ({ config: await discover(undefined, 'another') }), 'invalid_client'],
  ['another verifier', async () => ({ pkceCodeVerifier: client.randomPKCECodeVerifier() }), 'invalid_grant'],
] as const)('gives no token for %s', async (_case, change, error) => {
  const { config, back, pkceCodeVerifier } = { ...(await authorize({ user: 'ada' })), ...(await change()) };
  const grant = client.authorizationCodeGrant(config, back, { pkceCodeVerifier, expectedState: 'the-state' });
  await expect(grant).rejects.toMatchObject({ error });
});

it('gives tokens for a code once', async () => {
  const { config, back, pkceCodeVerifier } = await authorize({ user: 'ada' });
  const grant = () => client.authorizationCodeGrant(config, back, { pkceCodeVerifier, expectedState: 'the-state' });
  await grant();
  await expect(grant()).rejects.toMatchObject({ error: 'invalid_grant' });
});

it('says on its own page who is signed in, and signs out there', async () => {
  const cookies = new Map<string, string>();
  await claimsOf({ user: 'cleo', cookies });
  const home = async () => {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ');
    return (await fetch(provider.issuer, { headers: { cookie } })).text();
  };
  expect(await home()).toContain('Cleo is signed in here.');
  // The page after signing out has no form, so the helper stops there.
  await expect(signInAt(`${provider.issuer}/session/end`, { user: 'cancel', cookies })).rejects.toThrow('Signed out');
  expect(await home()).toContain('No user is signed in here.');
});

it('answers a sign-in that is over with 400', async () => {
  const response = await fetch(`${provider.issuer}/sign-in/unknown`);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('This sign-in is over.');
});
