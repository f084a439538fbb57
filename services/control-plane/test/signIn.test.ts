import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { type Browser, startAccount, type TestAccount } from './startAccount.ts';

let account: TestAccount;
beforeAll(async () => {
  account = await startAccount();
});
afterAll(() => account.stop());

it('signs a new address in by a mailed link, once', async () => {
  const browser = account.openBrowser();
  expect((await browser.get('/account/user')).status).toBe(401);
  const asked = await browser.post('/account/sign-in/link', { address: ' Ada@Example.com ' });
  expect([asked.status, asked.body]).toEqual([202, { done: true }]);

  const token = await account.readToken('ada@example.com');
  const signedIn = await browser.post('/account/sign-in/link/complete', { token });
  expect(signedIn.body).toEqual({
    user_id: expect.stringMatching(/^user_/),
    name: 'ada',
    addresses: ['ada@example.com'],
  });
  expect(signedIn.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^__Host-session=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax$/),
  ]);
  expect((await browser.get('/account/user')).body).toEqual(signedIn.body);

  const again = await account.openBrowser().post('/account/sign-in/link/complete', { token });
  expect([again.status, again.body.error]).toEqual([400, 'link_is_over']);
});

it('signs a known address in as the same user', async () => {
  const { userId } = await account.signIn('twice@example.com');
  expect((await account.signIn('twice@example.com')).userId).toBe(userId);
});

it('lets one of twenty take a link', async () => {
  const before = account.mails.length;
  await account.openBrowser().post('/account/sign-in/link', { address: 'race@example.com' });
  const token = await account.readToken('race@example.com', before);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => account.openBrowser().post('/account/sign-in/link/complete', { token })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(await account.db.email.count({ where: { address: 'race@example.com' } })).toBe(1);
});

it('makes one user of ten links to a new address that are taken at once', async () => {
  const address = 'links@example.com';
  const tokens = [];
  for (let index = 0; index < 10; index += 1) {
    const before = account.mails.length;
    await account.openBrowser().post('/account/sign-in/link', { address });
    tokens.push(await account.readToken(address, before));
  }
  const answers = await Promise.all(
    tokens.map((token) => account.openBrowser().post('/account/sign-in/link/complete', { token })),
  );
  expect(answers.map(({ status }) => status)).toEqual(tokens.map(() => 200));
  expect(new Set(answers.map(({ body }) => body.user_id)).size).toBe(1);
});

it('forgets what a mail said once it is sent', async () => {
  await account.signIn('forget@example.com');
  await until('the row of the mail', async () => {
    const rows = await account.db.mail.findMany({ where: { address: 'forget@example.com' } });
    return rows.every(({ sentAt, data }) => sentAt !== null && data === null);
  });
});

it('sends no mail for a ceremony that was rolled back, and none twice', async () => {
  const before = account.mails.length;
  const outcome = account.db.$transaction(async (tx) => {
    await tx.ceremony.create({ data: { kind: 'link', tokenHash: 'no hash', body: {}, endsAt: new Date() } });
  });
  await expect(outcome).rejects.toThrow();
  await account.signIn('once@example.com');
  expect(account.mails.slice(before).map(({ to }) => to)).toEqual(['once@example.com']);
});

it.each([
  ['a link as a step-up', '/account/step-up/link/complete'],
  ['a link as an invitation', '/account/invitations/accept'],
])('takes no token of another kind: %s', async (_, path) => {
  const browser = await account.signIn('kinds@example.com');
  const before = account.mails.length;
  await browser.post('/account/sign-in/link', { address: 'kinds@example.com' });
  const token = await account.readToken('kinds@example.com', before);
  expect((await browser.post(path, { token })).status).toBeGreaterThanOrEqual(400);
  expect((await browser.post('/account/sign-in/link/complete', { token })).status).toBe(200);
});

it('refuses a link that is 15 minutes old', async () => {
  const before = account.mails.length;
  await account.openBrowser().post('/account/sign-in/link', { address: 'late@example.com' });
  const token = await account.readToken('late@example.com', before);
  await account.db.ceremony.updateMany({ data: { endsAt: new Date(Date.now() - 1) } });
  const answer = await account.openBrowser().post('/account/sign-in/link/complete', { token });
  expect([answer.status, answer.body.error]).toEqual([400, 'link_is_over']);
});

it('ends a session that was 12 h idle, and one that is 7 days old', async () => {
  const idle = await account.signIn('idle@example.com');
  const { userId } = idle;
  await account.db.session.updateMany({ where: { userId }, data: { seenAt: new Date(Date.now() - 12 * 3_600_000) } });
  expect((await idle.get('/account/user')).status).toBe(401);
  const old = await account.signIn('idle@example.com');
  await account.db.session.updateMany({ where: { userId }, data: { endsAt: new Date() } });
  expect((await old.get('/account/user')).status).toBe(401);
});

it('lists the sessions of a user, and ends one at once', async () => {
  const first = await account.signIn('sessions@example.com');
  const second = await account.signIn('sessions@example.com');
  const { body } = await second.get('/account/sessions');
  expect(body.sessions).toEqual([
    expect.objectContaining({ is_current: true, address: '127.0.0.1' }),
    expect.objectContaining({ is_current: false }),
  ]);
  const path = `/account/sessions/${body.sessions[1].session_id}`;
  const stranger = await account.signIn('stranger@example.com');
  expect((await stranger.send('DELETE', path)).status).toBe(404);
  expect((await second.send('DELETE', path)).status).toBe(200);
  expect((await first.get('/account/user')).status).toBe(401);
  expect((await second.post('/account/sign-out')).status).toBe(200);
  expect(second.cookies.has('__Host-session')).toBe(false);
});

it('gives a session a new id when it is proved anew, by a link to an address of its user', async () => {
  const browser = await account.signIn('step@example.com');
  const old = browser.cookies.get('__Host-session');
  expect((await browser.post('/account/step-up/link', { address: 'ada@example.com' })).status).toBe(404);
  const before = account.mails.length;
  expect((await browser.post('/account/step-up/link', { address: 'step@example.com' })).status).toBe(202);
  const token = await account.readToken('step@example.com', before);
  const other = await account.signIn('other@example.com');
  expect((await other.post('/account/step-up/link/complete', { token })).status).toBe(400);

  const again = account.mails.length;
  await browser.post('/account/step-up/link', { address: 'step@example.com' });
  const fresh = await account.readToken('step@example.com', again);
  expect((await browser.post('/account/step-up/link/complete', { token: fresh })).status).toBe(200);
  expect(browser.cookies.get('__Host-session')).not.toBe(old);
  const thief = account.openBrowser();
  thief.cookies.set('__Host-session', old ?? '');
  expect((await thief.get('/account/user')).status).toBe(401);
});

it.each([
  '',
  'nobody',
  'a@b',
  'a b@example.com',
  'a@example.com\nbcc: b@example.com',
  '"a"@example.com',
  'a@\u212Aiosk.example.com',
  'a@example.com,b@example.com',
])('takes %j for no address', async (address) => {
  const { status, body } = await account.openBrowser().post('/account/sign-in/link', { address });
  expect([status, body.error, body.param]).toEqual([400, 'invalid_request', 'address']);
});

it('refuses more attempts than a person makes, with the seconds to wait', async () => {
  const strict = await startAccount({ limits: { requestsPerMinute: 6, burst: 2 } });
  const browser = strict.openBrowser();
  const statuses = [];
  for (let index = 0; index < 3; index += 1)
    statuses.push(await browser.post('/account/sign-in/link', { address: 'flood@example.com' }));
  expect(statuses.map(({ status }) => status)).toEqual([202, 202, 429]);
  expect(statuses[2]?.body.message).toMatch(/Wait \d+ s/);
  await strict.stop();
});

it('refuses more requests of a user than pages send, and none of another user', async () => {
  const strict = await startAccount({ userLimits: { requestsPerMinute: 6, burst: 3 } });
  const [one, other] = [await strict.signIn('one@example.com'), await strict.signIn('other@example.com')];
  const statuses = [];
  for (let index = 0; index < 4; index += 1)
    statuses.push((await one.post('/account/organizations', { name: 'Acme' })).status);
  expect(statuses).toEqual([201, 201, 201, 429]);
  expect((await other.get('/account/user')).status).toBe(200);
  await strict.stop();
});

it('counts the addresses of one /64 as one client, and mails of invitations too', async () => {
  const strict = await startAccount({ trustedHops: 1, limits: { requestsPerMinute: 6, burst: 3 } });
  const from = (browser: Browser, address: string) => (path: string, body: object) =>
    browser.send('POST', path, body, { 'x-forwarded-for': address });
  const ask = (address: string) =>
    from(strict.openBrowser(), address)('/account/sign-in/link', { address: 'flood@example.com' });
  const statuses = [];
  for (const host of ['1', '2', '3', '4']) statuses.push((await ask(`2001:db8:0:7::${host}`)).status);
  expect(statuses).toEqual([202, 202, 202, 429]);

  const owner = from(await strict.signIn('owner@example.com'), '2001:db8:0:8::1');
  const { body } = await owner('/account/organizations', { name: 'Acme' });
  const path = `/account/organizations/${body.organization_id}/invitations`;
  const invited = [];
  for (const name of ['a', 'b', 'c', 'd'])
    invited.push((await owner(path, { address: `${name}@example.com`, role: 'developer' })).status);
  expect(invited).toEqual([201, 201, 201, 429]);
  await strict.stop();
});
