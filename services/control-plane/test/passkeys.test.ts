import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from '@turnpike/postgres/sql';
import { type Conditions, SoftAuthenticator } from './SoftAuthenticator.ts';
import { ACCOUNT_ORIGIN, type Browser, startAccount, type TestAccount, untilBlocked } from './startAccount.ts';

const CONDITIONS = { origin: ACCOUNT_ORIGIN, relyingParty: 'localhost', isUserVerified: true };

let account: TestAccount;
beforeAll(async () => {
  account = await startAccount();
});
afterAll(() => account.stop());

/** Asks for the options of a ceremony. */
async function begin(browser: Browser, path: string) {
  const { status, body } = await browser.post(path);
  expect(status).toBe(200);
  return body.options;
}
const beginAdding = (browser: Browser) => begin(browser, '/account/passkeys/options');
const beginSignIn = (browser: Browser) => begin(browser, '/account/sign-in/passkey');
const beginStepUp = (browser: Browser) => begin(browser, '/account/step-up/passkey');

const add = (browser: Browser, credential: object, name = 'Laptop') =>
  browser.post('/account/passkeys', { name, credential });
const signIn = (browser: Browser, credential: object) =>
  browser.post('/account/sign-in/passkey/complete', { credential });
const stepUp = (browser: Browser, credential: object) =>
  browser.post('/account/step-up/passkey/complete', { credential });

/** A signed-in user with a passkey. */
async function aUserWithPasskey(address: string) {
  const browser = await account.signIn(address);
  const authenticator = new SoftAuthenticator(CONDITIONS);
  const credential = authenticator.create(await beginAdding(browser));
  const { status, body } = await add(browser, credential);
  expect(status).toBe(201);
  return { browser, authenticator, credentialId: credential.id, passkeyId: body.passkey_id as string };
}

it('adds a passkey that signs in, by an authenticator that verifies the user', async () => {
  const { browser, authenticator, credentialId, passkeyId } = await aUserWithPasskey('ada@example.com');
  expect((await browser.get('/account/passkeys')).body).toEqual({
    passkeys: [{ passkey_id: passkeyId, name: 'Laptop', created_at: expect.any(String), used_at: null }],
  });

  const elsewhere = account.openBrowser();
  const options = await beginSignIn(elsewhere);
  expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required', allowCredentials: [] });
  const signedIn = await signIn(elsewhere, authenticator.get(credentialId, options));
  expect([signedIn.status, signedIn.body]).toEqual([200, (await browser.get('/account/user')).body]);
  expect((await elsewhere.get('/account/passkeys')).body.passkeys).toEqual([
    expect.objectContaining({ passkey_id: passkeyId, used_at: expect.any(String) }),
  ]);
});

it('asks for a passkey that the authenticator finds by itself and not for a second one of the same authenticator', async () => {
  const { browser, credentialId } = await aUserWithPasskey('second@example.com');
  expect(await beginAdding(browser)).toMatchObject({
    rp: { id: 'localhost' },
    user: { id: Buffer.from(browser.userId).toString('base64url'), name: 'second@example.com' },
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    excludeCredentials: [expect.objectContaining({ id: credentialId })],
  });
});

it('proves a session by a passkey, which gets another token', async () => {
  const { browser, authenticator, credentialId } = await aUserWithPasskey('prove@example.com');
  await account.db.session.updateMany({ where: { userId: browser.userId }, data: { provedAt: new Date(0) } });
  expect((await browser.post('/account/passkeys/options')).body.error).toBe('step_up_required');
  const before = browser.cookies.get('__Host-session');
  const options = await beginStepUp(browser);
  expect(options.allowCredentials).toEqual([expect.objectContaining({ id: credentialId })]);
  expect((await stepUp(browser, authenticator.get(credentialId, options))).status).toBe(200);
  expect(browser.cookies.get('__Host-session')).not.toBe(before);
  expect((await browser.post('/account/passkeys/options')).status).toBe(200);
});

it('proves a session by an authenticator that leaves the user out, and signs nobody in by it', async () => {
  const [mine, theirs] = [await aUserWithPasskey('unnamed@example.com'), await aUserWithPasskey('named@example.com')];
  const withoutUser = ({ authenticator, credentialId }: typeof mine, options: { challenge: string }) => {
    const assertion = authenticator.get(credentialId, options);
    return { ...assertion, response: { ...assertion.response, userHandle: null } };
  };
  expect((await stepUp(mine.browser, withoutUser(mine, await beginStepUp(mine.browser)))).status).toBe(200);
  expect((await stepUp(mine.browser, withoutUser(theirs, await beginStepUp(mine.browser)))).status).toBe(400);
  const elsewhere = account.openBrowser();
  expect((await signIn(elsewhere, withoutUser(mine, await beginSignIn(elsewhere)))).status).toBe(400);
});

const BAD_CONDITIONS: [string, Partial<Conditions>][] = [
  ['a user whom the authenticator did not verify', { isUserVerified: false }],
  ['a page of another origin', { origin: 'https://evil.example' }],
  ['another port of our host', { origin: 'http://localhost:9' }],
  ['another relying party', { relyingParty: 'evil.example' }],
];

describe.each(BAD_CONDITIONS)('%s', (_case, conditions) => {
  it('adds no passkey', async () => {
    const browser = await account.signIn('bad-add@example.com');
    const authenticator = new SoftAuthenticator({ ...CONDITIONS, ...conditions });
    const answer = await add(browser, authenticator.create(await beginAdding(browser)));
    expect([answer.status, answer.body.error]).toEqual([400, 'passkey_refused']);
    expect((await browser.get('/account/passkeys')).body.passkeys).toEqual([]);
  });
  it('signs nobody in and proves no session', async () => {
    const { browser, authenticator, credentialId } = await aUserWithPasskey('bad-use@example.com');
    const elsewhere = account.openBrowser();
    const assertion = authenticator.get(credentialId, await beginSignIn(elsewhere), conditions);
    const signedIn = await signIn(elsewhere, assertion);
    expect([signedIn.status, signedIn.body.error, elsewhere.cookies.size]).toEqual([400, 'passkey_refused', 0]);
    const before = browser.cookies.get('__Host-session');
    const proved = await stepUp(browser, authenticator.get(credentialId, await beginStepUp(browser), conditions));
    expect([proved.status, browser.cookies.get('__Host-session')]).toEqual([400, before]);
  });
});

describe('a challenge', () => {
  it('adds one passkey, once', async () => {
    const browser = await account.signIn('once@example.com');
    const authenticator = new SoftAuthenticator(CONDITIONS);
    const options = await beginAdding(browser);
    const answers = await Promise.all([1, 2].map(() => add(browser, authenticator.create(options))));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400]);
  });

  it('signs in once, and not at all after a refusal', async () => {
    const { authenticator, credentialId } = await aUserWithPasskey('replay@example.com');
    const browser = account.openBrowser();
    const assertion = authenticator.get(credentialId, await beginSignIn(browser));
    expect([(await signIn(browser, assertion)).status, (await signIn(browser, assertion)).status]).toEqual([200, 400]);

    const options = await beginSignIn(browser);
    const bad = authenticator.get(credentialId, options, { isUserVerified: false });
    expect((await signIn(browser, bad)).status).toBe(400);
    expect((await signIn(browser, authenticator.get(credentialId, options))).status).toBe(400);
  });

  it('is of its kind and its session', async () => {
    const { browser, authenticator, credentialId } = await aUserWithPasskey('kind@example.com');
    const other = await account.signIn('kind@example.com');
    const use = (options: { challenge: string }) => authenticator.get(credentialId, options);
    const answers = [
      await signIn(browser, use(await beginStepUp(browser))),
      await signIn(browser, use(await beginAdding(browser))),
      await stepUp(browser, use(await beginSignIn(browser))),
      await stepUp(browser, use(await beginStepUp(other))),
      await add(browser, authenticator.create({ ...(await beginAdding(browser)), ...(await beginSignIn(browser)) })),
      await add(browser, authenticator.create(await beginAdding(other))),
      await signIn(browser, use({ challenge: 'AAAA' })),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
  });

  it('ends after 5 minutes', async () => {
    const { authenticator, credentialId } = await aUserWithPasskey('late@example.com');
    const options = await beginSignIn(account.openBrowser());
    const [ceremony] = await account.db.ceremony.findMany({ where: { kind: 'passkey' }, orderBy: { endsAt: 'desc' } });
    const leftMs = (ceremony?.endsAt.getTime() ?? 0) - Date.now();
    expect(leftMs).toBeLessThanOrEqual(5 * 60_000);
    await account.db.ceremony.updateMany({ where: { kind: 'passkey' }, data: { endsAt: new Date() } });
    expect((await signIn(account.openBrowser(), authenticator.get(credentialId, options))).status).toBe(400);
  });
});

it('refuses a count of uses that goes back or stays, as that of a copied authenticator', async () => {
  const { authenticator, credentialId } = await aUserWithPasskey('count@example.com');
  const browser = account.openBrowser();
  const use = async (counter: number) =>
    (await signIn(browser, authenticator.get(credentialId, await beginSignIn(browser), { counter }))).status;
  expect([await use(5), await use(5), await use(4), await use(6)]).toEqual([200, 400, 400, 200]);
});

it('takes an authenticator that counts no uses', async () => {
  const { authenticator, credentialId } = await aUserWithPasskey('countless@example.com');
  const browser = account.openBrowser();
  const use = async () =>
    (await signIn(browser, authenticator.get(credentialId, await beginSignIn(browser), { counter: 0 }))).status;
  expect([await use(), await use()]).toEqual([200, 200]);
});

it('takes no passkey of another user', async () => {
  const mine = await aUserWithPasskey('mine@example.com');
  const theirs = await aUserWithPasskey('theirs@example.com');
  const proved = await stepUp(
    mine.browser,
    theirs.authenticator.get(theirs.credentialId, await beginStepUp(mine.browser)),
  );
  expect([proved.status, proved.body.error]).toEqual([400, 'passkey_refused']);

  // My key under their id, and my passkey under their name.
  const browser = account.openBrowser();
  const assertion = mine.authenticator.get(mine.credentialId, await beginSignIn(browser));
  const asTheirs = { id: theirs.credentialId, rawId: theirs.credentialId };
  const theirHandle = { ...assertion.response, userHandle: Buffer.from(theirs.browser.userId).toString('base64url') };
  for (const forged of [
    { ...assertion, ...asTheirs },
    { ...assertion, ...asTheirs, response: theirHandle },
    { ...assertion, response: theirHandle },
  ])
    expect((await signIn(browser, forged)).status).toBe(400);
  expect(browser.cookies.size).toBe(0);

  const path = `/account/passkeys/${theirs.passkeyId}`;
  expect((await mine.browser.send('PATCH', path, { name: 'x' })).body.error).toBe('unknown_passkey');
  expect((await mine.browser.send('DELETE', path)).body.error).toBe('unknown_passkey');
  expect((await theirs.browser.get('/account/passkeys')).body.passkeys).toEqual([
    expect.objectContaining({ passkey_id: theirs.passkeyId, name: 'Laptop' }),
  ]);
});

it('takes no passkey twice, also of two users at once', async () => {
  const users = await Promise.all([1, 2].map((index) => account.signIn(`twin-${index}@example.com`)));
  const authenticator = new SoftAuthenticator({ ...CONDITIONS, credentialId: randomBytes(32) });
  const credentials = await Promise.all(users.map(async (user) => authenticator.create(await beginAdding(user))));
  const answers = await Promise.all(users.map((user, index) => add(user, credentials[index] ?? {})));
  expect(answers.map(({ status, body }) => [status, body.error]).toSorted()).toEqual([
    [201, undefined],
    [400, 'passkey_refused'],
  ]);
});

it.each([
  ['an attestation that is no CBOR', { attestationObject: 'AAAA' }],
  ['client data that is no JSON', { clientDataJSON: 'AAAA' }],
  ['client data that is null', { clientDataJSON: Buffer.from('null').toString('base64url') }],
])('refuses %s with 400', async (_case, response) => {
  const browser = await account.signIn('garbage@example.com');
  const credential = new SoftAuthenticator(CONDITIONS).create(await beginAdding(browser));
  const answer = await add(browser, { ...credential, response: { ...credential.response, ...response } });
  expect([answer.status, answer.body.error]).toEqual([400, 'passkey_refused']);
});

it('renames and removes a passkey, which signs in no more', async () => {
  const { browser, authenticator, credentialId, passkeyId } = await aUserWithPasskey('remove@example.com');
  const path = `/account/passkeys/${passkeyId}`;
  expect((await browser.send('PATCH', path, { name: 'Phone' })).body).toMatchObject({ name: 'Phone' });
  expect((await browser.send('DELETE', path)).body).toEqual({ done: true });
  expect((await browser.send('DELETE', path)).status).toBe(404);
  const assertion = authenticator.get(credentialId, await beginSignIn(browser));
  expect((await signIn(account.openBrowser(), assertion)).status).toBe(400);
  const lines = await account.db.audit.findMany({ where: { target: passkeyId }, orderBy: { auditId: 'asc' } });
  expect(lines.map(({ action, actor }) => [action, actor])).toEqual(
    ['added', 'renamed', 'removed'].map((verb) => [`passkey.${verb}`, browser.userId]),
  );
});

it('renames no passkey that another request removes meanwhile', async () => {
  const { browser, passkeyId } = await aUserWithPasskey('rename@example.com');
  const renamed = await account.db.$transaction(async (tx) => {
    await tx.$queryRaw(sql`SELECT set_config('idle_in_transaction_session_timeout', '0', true)`);
    await tx.$queryRaw(sql`SELECT 1 AS one FROM account_user WHERE user_id = ${browser.userId} FOR NO KEY UPDATE`);
    await tx.passkey.delete({ where: { passkeyId } });
    // In a list, so that the transaction does not wait for the answer.
    const answer = [browser.send('PATCH', `/account/passkeys/${passkeyId}`, { name: 'Phone' })];
    await untilBlocked(account.db);
    return answer;
  });
  const answers = await Promise.all(renamed);
  expect(answers.map(({ status, body }) => [status, body.error])).toEqual([[404, 'unknown_passkey']]);
});

it('never removes the last way to sign in, also of two at once', async () => {
  const { browser, passkeyId } = await aUserWithPasskey('last@example.com');
  const authenticator = new SoftAuthenticator(CONDITIONS);
  const second = (await add(browser, authenticator.create(await beginAdding(browser)))).body.passkey_id;
  await account.db.email.deleteMany({ where: { userId: browser.userId } });
  const remove = (id: string) => browser.send('DELETE', `/account/passkeys/${id}`);
  const answers = await Promise.all([remove(passkeyId), remove(second)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect((await browser.get('/account/passkeys')).body.passkeys).toHaveLength(1);
});

it('keeps 20 passkeys of a user at most', async () => {
  const browser = await account.signIn('many@example.com');
  const { userId } = browser;
  await account.db.passkey.createMany({
    data: Array.from({ length: 19 }, (_, index) => ({
      passkeyId: `pk_${userId}_${index}`,
      credentialId: `of-${userId}-${index}`,
      userId,
      name: 'Key',
      publicKey: new Uint8Array(1),
      counter: 0,
      transports: [],
    })),
  });
  const authenticator = new SoftAuthenticator(CONDITIONS);
  expect((await add(browser, authenticator.create(await beginAdding(browser)))).status).toBe(201);
  expect((await add(browser, authenticator.create(await beginAdding(browser)))).body.error).toBe('too_many_passkeys');
});
