import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type IdentityProvider, startIdentityProvider } from '@turnpike/identity-provider/startIdentityProvider';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { signInAt } from '@turnpike/test-support/signInAt';
import { ACCOUNT_ORIGIN, type Browser, startAccount, type TestAccount } from './startAccount.ts';

const SECRET = 'the-secret-of-the-client-of-this-test';
const CLIENT = {
  client_id: 'turnpike',
  client_secret: SECRET,
  redirect_uris: [`${ACCOUNT_ORIGIN}/account/sign-in/oidc/return/local`],
};

/** The codes that a hostile provider got. */
const stolen: string[] = [];
const hostile = createServer((req, res) => {
  const issuer = `http://${req.headers.host}`;
  if (req.method === 'GET')
    return res
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ issuer, authorization_endpoint: `${issuer}/begin`, token_endpoint: `${issuer}/token` }));
  req.on('data', (body) => stolen.push(new URLSearchParams(`${body}`).get('code') ?? ''));
  return req.on('end', () => res.writeHead(400).end());
});

let provider: IdentityProvider;
let account: TestAccount;
beforeAll(async () => {
  const port = await findFreePort();
  provider = await startIdentityProvider({ listenHost: '127.0.0.1', port, clients: [CLIENT], log: aSilentLogger() });
  const { issuer } = provider;
  const away = `http://localhost:${await findFreePort()}`;
  const hostilePort = await findFreePort();
  await new Promise<void>((resolve) => hostile.listen(hostilePort, '127.0.0.1', resolve));
  account = await startAccount({
    providers: [
      { id: 'local', name: 'Local', issuer, client_id: 'turnpike', client_secret: SECRET },
      { id: 'away', name: 'Away', issuer: away, client_id: 'turnpike', client_secret: SECRET },
      {
        ...{ id: 'hostile', name: 'Hostile', issuer: `http://localhost:${hostilePort}` },
        ...{ client_id: 'turnpike', client_secret: SECRET },
      },
    ],
  });
});
afterAll(async () => {
  await account.stop();
  await provider.close();
  hostile.close();
});

/** Asks for the provider's page on a route. */
async function begin(browser: Browser, path = '/account/sign-in/oidc'): Promise<string> {
  const { status, body } = await browser.post(path, { provider_id: 'local' });
  expect(status).toBe(200);
  return body.url;
}
async function signInAs(user: 'ada' | 'ben' | 'cleo'): Promise<{ browser: Browser; page: string }> {
  const browser = account.openBrowser();
  return { browser, page: await account.follow(browser, await begin(browser), { user }) };
}

it('lists the providers, and says which one is unknown or does not answer', async () => {
  const browser = account.openBrowser();
  expect((await browser.get('/account/sign-in/providers')).body).toEqual({
    providers: [
      { provider_id: 'local', name: 'Local' },
      { provider_id: 'away', name: 'Away' },
      { provider_id: 'hostile', name: 'Hostile' },
    ],
  });
  const ask = async (id: string) => (await browser.post('/account/sign-in/oidc', { provider_id: id })).status;
  expect([await ask('nobody'), await ask('away')]).toEqual([404, 502]);
});

it('makes one user of two first sign-ins at once', async () => {
  const browsers = [account.openBrowser(), account.openBrowser()];
  const returns = await Promise.all(browsers.map(async (browser) => signInAt(await begin(browser), { user: 'cleo' })));
  const pages = await Promise.all(
    returns.map(({ pathname, search }, index) => browsers[index]?.get(pathname + search)),
  );
  expect(pages.map((page) => page?.headers.get('location'))).toEqual(['/', '/']);
  expect(await account.db.identity.count()).toBe(1);
});

it('signs a verified address in, and again as the same user', async () => {
  const { browser, page } = await signInAs('cleo');
  expect(page).toBe('/');
  const { body } = await browser.get('/account/user');
  expect(body).toMatchObject({ name: expect.stringContaining('Cleo'), addresses: ['cleo@example.com'] });
  const again = await signInAs('cleo');
  expect((await again.browser.get('/account/user')).body).toEqual(body);
});

it('signs nobody in whose address the provider has not verified', async () => {
  const { browser, page } = await signInAs('ben');
  expect(page).toBe('/sign-in?error=address_not_verified');
  expect((await browser.get('/account/user')).status).toBe(401);
  expect(await account.db.email.count({ where: { address: 'ben@example.com' } })).toBe(0);
});

it('joins no user by an address, but by a link while signed in', async () => {
  const browser = await account.signIn('ada@example.com');
  expect((await signInAs('ada')).page).toBe('/sign-in?error=sign_in_and_link_instead');

  expect(await account.follow(browser, await begin(browser, '/account/identities'), { user: 'ada' })).toBe('/');
  const linked = await signInAs('ada');
  expect(linked.page).toBe('/');
  expect((await linked.browser.get('/account/user')).body.user_id).toBe(browser.userId);

  const other = await account.signIn('other@example.com');
  const page = await account.follow(other, await begin(other, '/account/identities'), { user: 'ada' });
  expect(page).toBe('/sign-in?error=identity_is_taken');
});

it('links no identity to a session that has ended meanwhile', async () => {
  const browser = await account.signIn('ended@example.com');
  const url = await begin(browser, '/account/identities');
  await account.db.session.updateMany({ where: { userId: browser.userId }, data: { endsAt: new Date() } });
  expect(await account.follow(browser, url, { user: 'ben' })).toBe('/sign-in?error=sign_in_is_over');
  expect(await account.db.identity.count({ where: { userId: browser.userId } })).toBe(0);
});

it('ends a sign-in once, and only in the browser that began it', async () => {
  const browser = account.openBrowser();
  const url = await begin(browser);
  const { pathname, search } = await signInAt(url, { user: 'cleo' });
  const thief = account.openBrowser();
  expect((await thief.get(pathname + search)).headers.get('location')).toBe('/sign-in?error=sign_in_is_over');
  expect((await browser.get(pathname + search)).headers.get('location')).toBe('/sign-in?error=sign_in_is_over');
  expect((await browser.get('/account/user')).status).toBe(401);
});

it.each([
  ['a refusal of the user', async (url: string) => (await signInAt(url, { user: 'cancel' })).search],
  [
    'a changed code',
    async (url: string) => (await signInAt(url, { user: 'cleo' })).search.replace(/code=[^&]{4}/, 'code=AAAA'),
  ],
])('signs nobody in by %s', async (_, toSearch) => {
  const browser = account.openBrowser();
  const search = await toSearch(await begin(browser));
  const { headers } = await browser.get(`/account/sign-in/oidc/return/local${search}`);
  expect(headers.get('location')).toBe('/sign-in?error=provider_refused');
  expect((await browser.get('/account/user')).status).toBe(401);
});

it('gives no provider the code of another one, by which it could sign in as a user of that', async () => {
  const mixed = new URL(await begin(account.openBrowser()));
  const victim = account.openBrowser();
  const { body } = await victim.post('/account/sign-in/oidc', { provider_id: 'hostile' });
  // The hostile provider leads the victim on to the other one, with the challenge and the nonce of the attacker.
  mixed.searchParams.set('state', new URL(body.url).searchParams.get('state') ?? '');
  const back = await signInAt(mixed, { user: 'cleo' });
  // Many providers do not name themselves.
  back.searchParams.delete('iss');
  const returned = await victim.get(back.pathname + back.search);
  expect(returned.headers.get('location')).toBe('/sign-in?error=provider_refused');
  expect(stolen).toEqual([]);
});

it('answers a return without a sign-in', async () => {
  const { status, headers } = await account.openBrowser().get('/account/sign-in/oidc/return/local');
  expect([status, headers.get('location')]).toEqual([303, '/sign-in?error=sign_in_is_over']);
});

it('proves a session anew where the provider asks the user, and gives it a new id', async () => {
  const cookies = new Map<string, string>();
  const browser = account.openBrowser();
  await account.follow(browser, await begin(browser), { user: 'cleo', cookies });
  const old = browser.cookies.get('__Host-session');
  const url = await begin(browser, '/account/step-up/oidc');
  // The provider knows the browser, and asks all the same.
  expect(await account.follow(browser, url, { user: 'cleo', cookies })).toBe('/');
  expect(browser.cookies.get('__Host-session')).not.toBe(old);
  expect((await browser.get('/account/user')).status).toBe(200);

  const ofAnother = await begin(browser, '/account/step-up/oidc');
  await account.signIn('ada@example.com');
  expect(await account.follow(browser, ofAnother, { user: 'ada' })).toBe('/sign-in?error=another_user');
});

it('proves no session where the browser kept the provider from asking', async () => {
  const cookies = new Map<string, string>();
  const browser = account.openBrowser();
  await account.follow(browser, await begin(browser), { user: 'cleo', cookies });
  const url = new URL(await begin(browser, '/account/step-up/oidc'));
  url.searchParams.delete('max_age');
  // The user seems to have signed in at the provider 20 s before this.
  await account.db.$executeRaw`
    UPDATE ceremony SET body = jsonb_set(body, '{begunAt}', to_jsonb((body->>'begunAt')::bigint + 20000))`;
  const page = await account.follow(browser, url.href, { user: 'cleo', cookies });
  expect(page).toBe('/sign-in?error=provider_refused');
});
