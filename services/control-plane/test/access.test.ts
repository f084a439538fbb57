import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AccountRoute } from '@turnpike/console-api/account/accountRoute';
import { accountApi } from '@turnpike/console-api/accountApi';
import { hasRight, ROLES } from '@turnpike/console-api/roles';
import { sql } from '@turnpike/postgres/sql';
import { until } from '@turnpike/test-support/until';
import { ACCOUNT_ORIGIN, type Browser, startAccount, type TestAccount } from './startAccount.ts';

const ROUTES = Object.entries<AccountRoute>(accountApi.routes);
const GUARDED = ROUTES.filter(([, { access }]) => access.of !== 'anyone');
const OF_MEMBERS = ROUTES.filter(([, { access }]) => access.of === 'member');
/** The refusals of guards. A wrong body or id is refused behind them. */
const GUARD_ERRORS = ['no_session', 'foreign_origin', 'step_up_required', 'organization_not_found', 'right_missing'];

let account: TestAccount;
let organizationId: string;
const browsers = new Map<string, Browser & { userId: string }>();
beforeAll(async () => {
  account = await startAccount();
  for (const role of [...ROLES, 'stranger', 'founder']) browsers.set(role, await account.signIn(`${role}@example.com`));
  const { body } = await of('founder').post('/account/organizations', { name: 'Acme' });
  organizationId = body.organization_id;
  for (const role of ROLES) await account.db.member.create({ data: { organizationId, userId: of(role).userId, role } });
});
afterAll(() => account.stop());

function of(name: string): Browser & { userId: string } {
  const browser = browsers.get(name);
  if (!browser) throw new Error(`nobody is ${name}`);
  return browser;
}

/** Asks a route with ids of nothing and a body of nothing, so that nobody who is let in changes anything. */
async function ask(
  browser: Browser,
  { method, path }: AccountRoute,
  headers: Record<string, string> = {},
): Promise<string> {
  const url = path.replace(':organization_id', organizationId).replaceAll(/:\w+/g, 'none');
  const { body } = await browser.send(method, url, method === 'GET' ? undefined : { nothing: true }, headers);
  return GUARD_ERRORS.includes(body.error) ? body.error : 'let in';
}

/** Leaves out the routes that, asked with nothing, do something all the same. */
const isHarmless = ([name]: [string, AccountRoute]): boolean => !['signOut', 'leaveOrganization'].includes(name);

describe.each(OF_MEMBERS.filter(isHarmless))('%s', (_, route) => {
  const { access } = route;
  if (access.of !== 'member') throw new Error('the table above has routes of members alone');
  it.each(ROLES)('lets the role %s in by its rights', async (role) => {
    expect(await ask(of(role), route)).toBe(hasRight(role, access.right) ? 'let in' : 'right_missing');
  });
  it('is not there for another organization', async () => {
    expect(await ask(of('stranger'), route)).toBe('organization_not_found');
  });
});

it.each(GUARDED)('%s lets in nobody without a session, and none whose cookie stands twice', async (_, route) => {
  expect(await ask(account.openBrowser(), route)).toBe('no_session');
  const token = of('owner').cookies.get('__Host-session');
  const cookie = `__Host-session=${token}; __Host-session=${token}`;
  expect(await ask(account.openBrowser(), route, { cookie })).toBe('no_session');
});

const RECENT = GUARDED.filter(([, { access }]) => access.of !== 'anyone' && access.recent);
it.each(RECENT)('%s wants a proof that is at most 10 minutes old', async (_, route) => {
  const stale = await account.signIn('owner@example.com');
  const provedAt = new Date(Date.now() - 11 * 60_000);
  await account.db.session.updateMany({ where: { userId: stale.userId }, data: { provedAt } });
  expect(await ask(stale, route)).toBe('step_up_required');
  await account.db.session.updateMany({ where: { userId: stale.userId }, data: { provedAt: new Date() } });
  expect(await ask(stale, route)).toBe('let in');
});

const WRITES = ROUTES.filter(([, { method }]) => method !== 'GET').filter(isHarmless);
it.each(WRITES)('%s takes nothing from a page of another site', async (_, route) => {
  const forged = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: ACCOUNT_ORIGIN },
    { 'sec-fetch-site': 'none' },
  ];
  for (const headers of forged) expect(await ask(of('owner'), route, headers)).toBe('foreign_origin');
});

it('takes a write of a browser that says its origin alone', async () => {
  const send = (origin: string) =>
    fetch(`${account.url}/account/sign-in/link`, { method: 'POST', headers: { origin }, body: '{}' });
  expect((await send('https://evil.example')).status).toBe(403);
  expect((await send('null')).status).toBe(403);
  const body = JSON.stringify({ address: 'origin@example.com' });
  const headers = { origin: ACCOUNT_ORIGIN, 'content-type': 'application/json' };
  expect((await fetch(`${account.url}/account/sign-in/link`, { method: 'POST', headers, body })).status).toBe(202);
});

it('takes JSON alone', async () => {
  const answer = await of('owner').send('POST', '/account/organizations', 'name=x', { 'content-type': 'text/plain' });
  expect([answer.status, answer.body.error]).toEqual([415, 'not_json']);
});

it.each(['/', '/health', '/internal/workspaces', '/account', '/v1/models', '/account/health/', '/ACCOUNT/health'])(
  'serves nothing at %s',
  async (path) => {
    const { status, body, headers } = await account.openBrowser().get(path);
    expect([status, body.error]).toEqual([404, 'not_found']);
    expect(headers.get('x-powered-by')).toBeNull();
  },
);

it('answers its health to everybody, and lets no cache keep an answer', async () => {
  const { status, body, headers } = await account.openBrowser().get('/account/health');
  expect([status, body]).toEqual([200, { status: 'ok' }]);
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get('cache-control')).toBe('no-store');
});

it('says that the account layer cannot answer when its database breaks off', async () => {
  const { status, body } = await account.db.$transaction(async (tx) => {
    await tx.$executeRaw(sql`LOCK TABLE session IN ACCESS EXCLUSIVE MODE`);
    const asked = of('owner').get('/account/organizations');
    // Outside the transaction, which would see only the connections that were there at its first look.
    await until('the end of a connection that waits', async () => {
      const [row] = await account.db.$queryRaw<{ ended: number }[]>(sql`
        SELECT count(pg_terminate_backend(pid))::INTEGER AS ended FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()`);
      return row !== undefined && row.ended > 0;
    });
    return asked;
  });
  expect([status, body.error]).toEqual([503, 'database_away']);
});
