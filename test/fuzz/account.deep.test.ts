import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AccountRoute } from '@turnpike/console-api/account/accountRoute';
import { accountApi } from '@turnpike/console-api/accountApi';
import fc from 'fast-check';
import { startAccount, type TestAccount } from '../../services/control-plane/test/startAccount.ts';
import { createAnswerChecker } from '../support/openapi/createAnswerChecker.ts';
import { readDocument } from '../support/openapi/readDocument.ts';
import { aBody, aContentType, HOSTILE_IDS, listHostileBodies, writeBody } from './cases/browserCase.ts';
import { toTree } from './cases/jsonTree.ts';

/** Seed of the cases. `FUZZ_SEED` sends others. */
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const CASES = 60;
/** Would end the session or the membership that the next case needs. */
const LEFT_OUT = ['signOut', 'leaveOrganization'];
const ROUTES = Object.entries<AccountRoute>(accountApi.routes).filter(([name]) => !LEFT_OUT.includes(name));

/** Stands in each text of the other organization and its people. */
const SECRET = 'canary-5f1b0c';
const HOSTILE_QUERIES = [
  'before=',
  'before=1',
  'before=-1',
  'before=1&before=2',
  'before[x]=1',
  `before=${'9'.repeat(18)}`,
  'before=%00',
  'x=%ff',
];
const CREDENTIAL = { id: 'AAAA', rawId: 'AAAA', type: 'public-key' };
const CLIENT_DATA = Buffer.from('{"type":"webauthn.get","challenge":"AAAA","origin":"x"}').toString('base64url');
/** A body that a route takes, by the name of each field. */
const FIELDS: Record<string, unknown> = {
  address: 'fuzz@example.com',
  token: 'a'.repeat(43),
  provider_id: 'none',
  name: 'A name',
  role: 'developer',
  region: 'us',
  net_cents: 1_000,
};
const CREDENTIALS: Record<string, unknown> = {
  addPasskey: { ...CREDENTIAL, response: { clientDataJSON: CLIENT_DATA, attestationObject: 'AAAA' } },
  signInByPasskey: {
    ...CREDENTIAL,
    response: { clientDataJSON: CLIENT_DATA, authenticatorData: 'AAAA', signature: 'AAAA', userHandle: 'AAAA' },
  },
};
CREDENTIALS.stepUpByPasskey = CREDENTIALS.signInByPasskey;

const checkAnswer = createAnswerChecker(readDocument('account-openapi.json'));

let account: TestAccount;
let mine: Awaited<ReturnType<typeof aUser>>;
let theirs: Awaited<ReturnType<typeof aUser>>;
beforeAll(async () => {
  account = await startAccount();
  mine = await aUser('mine');
  theirs = await aUser(SECRET);
});
afterAll(() => account.stop());

/** A user with everything that a user can have, each of it named. */
async function aUser(name: string) {
  const browser = await account.signIn(`${name}@example.com`);
  const other = await account.signIn(`${name}@example.com`);
  const organization = (await browser.post('/account/organizations', { name })).body.organization_id;
  const path = `/account/organizations/${organization}`;
  await browser.post(`${path}/workspaces`, { region: 'eu', name });
  const invited = await browser.post(`${path}/invitations`, { address: `guest-${name}@example.com`, role: 'admin' });
  const member = await account.signIn(`member-${name}@example.com`);
  await account.db.member.create({ data: { organizationId: organization, userId: member.userId, role: 'developer' } });
  const passkeyId = `pk_${name}`;
  const publicKey = new Uint8Array(1);
  await account.db.passkey.create({
    data: { passkeyId, credentialId: name, userId: browser.userId, name, publicKey, counter: 0, transports: [] },
  });
  const { body } = await other.get('/account/sessions');
  const ids: Record<string, string> = {
    organization_id: organization,
    user_id: member.userId,
    invitation_id: invited.body.invitation_id,
    passkey_id: passkeyId,
    session_id: body.sessions.find((session: { is_current: boolean }) => session.is_current).session_id,
  };
  return { browser, ids, address: `${name}@example.com` };
}

/** Reads all that the other organization has. */
const theirState = async () => ({
  organizations: await theirs.browser.get('/account/organizations').then(({ body }) => body),
  passkeys: await theirs.browser.get('/account/passkeys').then(({ body }) => body),
  sessions: await account.db.session.count({ where: { userId: theirs.browser.userId } }),
  audit: await theirs.browser
    .get(`/account/organizations/${theirs.ids.organization_id}/audit`)
    .then(({ body }) => body),
  invitations: await theirs.browser
    .get(`/account/organizations/${theirs.ids.organization_id}/invitations`)
    .then(({ body }) => body),
});

const anId = fc.oneof(
  { weight: 5, arbitrary: fc.constant('mine') },
  { weight: 5, arbitrary: fc.constant('theirs') },
  { weight: 5, arbitrary: fc.constantFrom(...HOSTILE_IDS) },
);
const aCase = fc.record({
  who: fc.constantFrom('mine' as const, 'mine' as const, 'mine' as const, 'nobody' as const),
  ids: fc.array(anId, { minLength: 2, maxLength: 2 }),
  query: fc.option(fc.constantFrom(...HOSTILE_QUERIES)),
  body: aBody,
  type: aContentType,
});
type Case = typeof aCase extends fc.Arbitrary<infer Value> ? Value : never;

function toPath(path: string, { ids, query }: Case): string {
  let index = 0;
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const id = ids[index++ % ids.length] ?? 'none';
    if (id === 'mine') return mine.ids[name] ?? 'none';
    return id === 'theirs' ? (theirs.ids[name] ?? 'none') : id;
  });
  return query === null ? filled : `${filled}?${query}`;
}

/** The tree of a body that a route takes. */
function toBodyTree(name: string, { body }: AccountRoute) {
  const fields = Object.keys((body as { shape?: object } | undefined)?.shape ?? {});
  const toValue = (field: string) => (field === 'credential' ? CREDENTIALS[name] : FIELDS[field]);
  return toTree(Object.fromEntries(fields.map((field) => [field, toValue(field)])));
}

/** Sends a request and returns what is wrong with its answer. */
async function tryRequest(
  route: AccountRoute,
  { who, path, body, type }: { who: Case['who']; path: string; body: string | undefined; type: string },
): Promise<string[]> {
  const browser = who === 'mine' ? mine.browser : account.openBrowser();
  const { status, headers, body: answer } = await browser.send(route.method, path, body, { 'content-type': type });
  const template = route.path.replaceAll(/:\w+/g, 'id');
  const head = checkAnswer({ method: route.method, path: template, status, headers });
  const text = JSON.stringify(answer);
  return [
    ...head.problems,
    ...(head.media === 'application/json' ? head.checkJson(answer) : []),
    ...(text.includes(SECRET) ? [`shows another organization: ${text}`] : []),
    ...(/postgres|prisma|node_modules|at .*\.ts/i.test(text) ? [`shows the inside: ${text}`] : []),
  ].map((problem) => `${route.method} ${path.slice(0, 200)} ${body?.slice(0, 300)} → ${status} ${problem}`);
}

describe('the account API, whatever is sent', () => {
  let before: Awaited<ReturnType<typeof theirState>>;
  beforeAll(async () => {
    before = await theirState();
  });

  it.each(ROUTES)(
    '%s answers as it is documented, never 5xx, with nothing of another organization',
    async (name, route) => {
      const problems: string[] = [];
      for (const drawn of fc.sample(aCase, {
        numRuns: CASES,
        seed: SEED + ROUTES.findIndex(([other]) => other === name),
      })) {
        const body = route.method === 'GET' ? undefined : writeBody(toBodyTree(name, route), drawn.body);
        const { who, type } = drawn;
        problems.push(...(await tryRequest(route, { who, path: toPath(route.path, drawn), body, type })));
      }
      expect(problems).toEqual([]);
    },
  );

  it.each(ROUTES.filter(([, { body }]) => body))(
    '%s takes each known hostile text in each field',
    async (name, route) => {
      const path = route.path.replaceAll(/:(\w+)/g, (_, id: string) => mine.ids[id] ?? 'none');
      const problems: string[] = [];
      for (const body of listHostileBodies(() => toBodyTree(name, route)))
        problems.push(...(await tryRequest(route, { who: 'mine', path, body, type: 'application/json' })));
      expect(problems).toEqual([]);
    },
  );

  it('has changed nothing of another organization', async () => {
    expect(await theirState()).toEqual(before);
  });
});
