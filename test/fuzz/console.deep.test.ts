import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Region } from '@turnpike/config/region';
import type { AnyConsoleRoute } from '@turnpike/console-api/console/consoleRoute';
import { CONSOLE_APIS, type ConsoleService } from '@turnpike/console-api/consoleApi';
import { ROLES } from '@turnpike/console-api/roles';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { type ConsoleCaller, signConsoleToken } from '@turnpike/internal-auth/consoleToken';
import fc from 'fast-check';
import { putAWorkspace, registerAKey } from '../../services/auth/test/builders.ts';
import { fleet as authFleet, startAuth } from '../../services/auth/test/startAuth.ts';
import { aCatalogModel } from '../../services/catalog/test/aCatalogModel.ts';
import { fleet as catalogFleet, startTestRouter } from '../../services/catalog/test/startNeighbours.ts';
import { startTestService as startCatalog } from '../../services/catalog/test/startTestService.ts';
import { sendTarget } from '../../services/edge/test/sendRaw.ts';
import { startConsole } from '../../services/edge/test/startConsole.ts';
import { insertJobs, jobIdOf } from '../../services/media-jobs/test/insertJobs.ts';
import { openTestJobs } from '../../services/media-jobs/test/openTestJobs.ts';
import { startConsoleRoutes } from '../../services/media-jobs/test/startConsoleRoutes.ts';
import { aPartition, openTestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import {
  fleet as ledgerFleet,
  startTestService as startLedger,
} from '../../services/usage-ledger/test/startTestService.ts';
import { createAnswerChecker } from '../support/openapi/createAnswerChecker.ts';
import { readDocument } from '../support/openapi/readDocument.ts';
import { aBody, aContentType, HOSTILE_IDS, listHostileBodies, writeBody } from './cases/browserCase.ts';
import { toTree } from './cases/jsonTree.ts';

/** Seed of the cases. `FUZZ_SEED` sends others. */
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const CASES = 60;
const ROUTES = CONSOLE_APIS.flatMap(({ service, routes }) =>
  Object.entries<AnyConsoleRoute>(routes).map(([name, route]) => [name, { service, route }] as const),
);

/** Stands in each text of the other workspace. */
const SECRET = 'canary-5f1b0c';
const ORIGIN = 'https://console.example';
const global = aFleet('global');
const HOSTILE_QUERIES = ['', '0', '-1', 'null', '%00', '%ff', '2026-02-30', '9'.repeat(300), '1&x=2', '1&', '[x]=1'];
/** Values that routes take, by the name of a parameter or field. */
const VALUES: Record<string, unknown> = {
  after: '',
  find: 'e',
  states: 'active,expired',
  ids: 'key_1',
  ended_playground: 'left_out',
  skip: 0,
  take: 5,
  start: '2026-10-01',
  end: '2026-10-09',
  by: 'day',
  group: 'key',
  status: 'failed',
  key_id: 'key_1',
  key_sha256: 'a'.repeat(64),
  last_four: 'abcd',
  name: 'A key',
  rpm: 1,
  tpm: 1,
  max_budget_nano_usd: '1',
  period_budget: { period: 'day', max_nano_usd: '1' },
  allowed_models: ['small'],
  expires_at: '2030-01-01T00:00:00Z',
};

const checkAnswer = createAnswerChecker(readDocument('console-openapi.json'));
const stops: (() => unknown)[] = [];
/** The port of a console host with each service behind. The services of tests have fleets of their own. */
let ports: Record<ConsoleService, number>;
let ids: Record<'mine' | 'theirs', Record<string, string>>;

beforeAll(async () => {
  const auth = await startAuth();
  const ledger = await openTestLedger();
  const usage = await startLedger(ledger, { authUrl: 'http://127.0.0.1:9', usageQueryTimeoutMs: 20_000 });
  const router = await startTestRouter();
  router.setLive({ 'small-chat': { engines: 1, healthy: 1 } });
  const models = [aCatalogModel({ id: 'small-chat' })];
  const catalog = await startCatalog({ models, authUrl: 'http://127.0.0.1:9', routerUrl: router.url });
  stops.push(
    () => auth.stop(),
    () => usage.close().then(() => ledger.close()),
    () => catalog.close(),
    router.close,
  );
  const jobs = await openTestJobs();
  const media = await startConsoleRoutes(jobs.db, catalogFleet.publicKeys);
  stops.push(() => media.close().then(() => jobs.close()));
  const amounts = { spend_nano_usd: '3', held_nano_usd: '2', credit_nano_usd: '9', month_spend_nano_usd: '1' };
  auth.answerSpend((_req, res) => res.end(JSON.stringify(amounts)));
  const floodLimit = { requestsPerMinute: 1_000_000, burst: 1_000_000 };
  const open = async (service: ConsoleService, url: string, fleet: typeof authFleet) => {
    const { port, stop } = await startConsole({
      allowedOrigin: ORIGIN,
      urls: { [service]: url },
      publicKeys: [...fleet.publicKeys, ...global.publicKeys],
      signingKey: fleet.keyOf('edge'),
      floodLimit,
    });
    stops.unshift(stop);
    return port;
  };
  ports = {
    auth: await open('auth', auth.internalUrl, authFleet),
    'usage-ledger': await open('usage-ledger', usage.internalUrl, ledgerFleet),
    'media-jobs': await open('media-jobs', media.url, catalogFleet),
    catalog: await open('catalog', catalog.internalUrl, catalogFleet),
  };

  /** Makes a workspace with all that a workspace can have, each named. */
  const fill = async (name: string) => {
    const { workspaceId } = await putAWorkspace(auth, { name });
    const { keyId } = await registerAKey(auth, { workspace_id: workspaceId, name });
    const event = aUsageRecorded({ workspaceId, keyId, canonicalModel: name, startedAtMs: Date.UTC(2026, 9, 5) });
    await aPartition(ledger.db).deliver([event]);
    await insertJobs(jobs.db, { workspaceId, jobs: 3, failedEvery: 2, model: name });
    return { workspace_id: workspaceId, key_id: keyId, call_id: event.callId, job_id: jobIdOf(workspaceId, 1) };
  };
  ids = { mine: await fill('mine'), theirs: await fill(SECRET) };
});
afterAll(async () => {
  for (const stop of stops) await stop();
});

/** Signs a console token, as the control plane does. */
async function aConsoleToken(
  caller: Partial<ConsoleCaller> = {},
  { region = 'us', agoMs = 0 }: { region?: Region; agoMs?: number } = {},
): Promise<string> {
  const member = { userId: 'u1', organizationId: 'o1', workspaceId: 'ws_1', role: 'owner', ...caller };
  const signed = { region, key: global.keyOf('control-plane'), now: new Date(Date.now() - agoMs) };
  return (await signConsoleToken(member, signed)).token;
}

/** Signs a token of an owner of either workspace, or of a member of mine by the role. Undefined for nobody. A token is valid for minutes. */
async function tokenOf(who: string): Promise<string | undefined> {
  const isOwner = who === 'mine' || who === 'theirs';
  const role = isOwner ? 'owner' : ROLES.find((name) => name === who);
  return role && aConsoleToken({ workspaceId: ids[who === 'theirs' ? who : 'mine'].workspace_id ?? '', role });
}

interface Sent {
  who: string;
  path: string;
  body: string | undefined;
  type: string;
}

async function send(service: ConsoleService, method: string, { who, path, body, type }: Sent) {
  const token = await tokenOf(who);
  return fetch(`http://127.0.0.1:${ports[service]}${path}`, {
    method,
    headers: { origin: ORIGIN, 'content-type': type, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { body }),
  });
}

/** Sends a request and returns what is wrong with its answer. */
async function tryRequest({ service, route }: (typeof ROUTES)[number][1], sent: Sent): Promise<string[]> {
  const response = await send(service, route.method, sent);
  const { status, headers } = response;
  const text = await response.text();
  const head = checkAnswer({ method: route.method, path: route.path.replaceAll(/:\w+/g, 'id'), status, headers });
  return [
    ...head.problems,
    ...(head.media === 'application/json' ? head.checkJson(JSON.parse(text)) : []),
    ...(status >= 500 ? ['is an error of ours'] : []),
    ...(headers.get('access-control-allow-origin') === ORIGIN ? [] : ['does not allow the origin']),
    ...(text.includes(SECRET) ? [`shows another workspace: ${text}`] : []),
    ...(/postgres|prisma|node_modules|at .*\.ts/i.test(text) ? [`shows the inside: ${text}`] : []),
  ].map(
    (problem) =>
      `${route.method} ${sent.path.slice(0, 200)} ${sent.body?.slice(0, 300)} as ${sent.who} → ${status} ${problem}`,
  );
}

const namesOf = (schema: AnyConsoleRoute['params']): string[] =>
  Object.keys((schema as { shape?: object } | undefined)?.shape ?? {});

const aValue = fc.oneof(
  { weight: 4, arbitrary: fc.constant('valid') },
  { weight: 1, arbitrary: fc.constant(undefined) },
  { weight: 2, arbitrary: fc.constantFrom(...HOSTILE_QUERIES) },
);
const anId = fc.oneof(
  { weight: 5, arbitrary: fc.constant('mine') },
  { weight: 5, arbitrary: fc.constant('theirs') },
  { weight: 5, arbitrary: fc.constantFrom(...HOSTILE_IDS) },
);
const aCase = fc.record({
  who: fc.constantFrom('mine', 'mine', 'mine', 'nobody', ...ROLES),
  id: anId,
  query: fc.array(aValue, { minLength: 6, maxLength: 6 }),
  body: aBody,
  type: aContentType,
});
type Case = typeof aCase extends fc.Arbitrary<infer Value> ? Value : never;

/** Fills the path of a route and its query. */
function toPath({ path, params }: AnyConsoleRoute, { id, query }: Case): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) =>
    id === 'mine' || id === 'theirs' ? (ids[id][name] ?? 'none') : id,
  );
  const pairs = namesOf(params)
    .filter((name) => !path.includes(`:${name}`))
    .flatMap((name, index) => {
      const value = query[index];
      return value === undefined ? [] : [`${name}=${value === 'valid' ? VALUES[name] : value}`];
    });
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
}

const toBodyTree = ({ body }: AnyConsoleRoute) =>
  toTree(Object.fromEntries(namesOf(body).map((field) => [field, VALUES[field]])));

/** Reads all that the other workspace has. */
const theirState = () =>
  Promise.all(
    (
      [
        ['auth', '/console/keys'],
        ['auth', '/console/keys/find'],
        ['usage-ledger', '/console/usage?start=2026-10-01&end=2026-10-09'],
        ['media-jobs', '/console/jobs'],
      ] as const
    ).map(async ([service, path]) => {
      const response = await send(service, 'GET', { who: 'theirs', path, body: undefined, type: 'text/plain' });
      expect(response.status).toBe(200);
      return response.json();
    }),
  );

describe('the console host, whatever is sent', () => {
  let before: unknown[];
  beforeAll(async () => {
    before = await theirState();
    for (const state of before) expect(JSON.stringify(state)).toContain(SECRET);
  });

  it.each(ROUTES)(
    '%s answers as it is documented, never 5xx, with nothing of another workspace',
    async (_name, called) => {
      const { route } = called;
      const problems: string[] = [];
      const seed = SEED + ROUTES.findIndex(([, other]) => other === called);
      for (const drawn of fc.sample(aCase, { numRuns: CASES, seed })) {
        const body = route.method === 'GET' ? undefined : writeBody(toBodyTree(route), drawn.body);
        const { who, type } = drawn;
        problems.push(...(await tryRequest(called, { who, path: toPath(route, drawn), body, type })));
      }
      expect(problems).toEqual([]);
    },
  );

  it.each(ROUTES.filter(([, { route }]) => route.body))(
    '%s takes each known hostile text in each field',
    async (_name, called) => {
      const path = called.route.path.replaceAll(/:(\w+)/g, (_, id: string) => ids.mine[id] ?? 'none');
      const problems: string[] = [];
      for (const body of listHostileBodies(() => toBodyTree(called.route)))
        problems.push(...(await tryRequest(called, { who: 'mine', path, body, type: 'application/json' })));
      expect(problems).toEqual([]);
    },
  );

  it('has changed nothing of another workspace', async () => {
    expect(await theirState()).toEqual(before);
  });
});

describe('a refusal of the console host', () => {
  const bearer = (token: string) => [`Authorization: Bearer ${token}`];
  const bearerOf = async (who: string) => bearer((await tokenOf(who)) ?? '');

  it.each<[string, { method?: string; path?: string; headers?: () => Promise<string[]> | string[] }, number, string]>([
    ['no token', { headers: () => [] }, 401, 'invalid_console_token'],
    [
      'an expired token',
      { headers: async () => bearer(await aConsoleToken({}, { agoMs: 6 * 60_000 + 1_000 })) },
      401,
      'invalid_console_token',
    ],
    [
      'a token of another region',
      { headers: async () => bearer(await aConsoleToken({}, { region: 'eu' })) },
      401,
      'invalid_console_token',
    ],
    [
      'a foreign origin',
      { headers: async () => ['Origin: https://evil.example', ...(await bearerOf('mine'))] },
      403,
      'foreign_origin',
    ],
    ['a foreign preflight', { method: 'OPTIONS', headers: () => ['Origin: null'] }, 403, 'foreign_origin'],
    ['a role without the right', { headers: () => bearerOf('billing_viewer') }, 403, 'right_missing'],
    ['an unknown path', { path: '/console/nothing' }, 404, 'not_found'],
    ['an unknown path in a preflight', { method: 'OPTIONS', path: '/console/nothing' }, 404, 'not_found'],
    ['a method that the path lacks', { method: 'DELETE' }, 405, 'method_not_allowed'],
    ['two hosts', { headers: async () => ['Host: b', ...(await bearerOf('mine'))] }, 400, 'malformed_request'],
  ])('for %s is as documented', async (_case, { method = 'GET', path = '/console/keys', headers }, status, error) => {
    const own = (await headers?.()) ?? (await bearerOf('mine'));
    const origin = own.some((line) => line.startsWith('Origin: ')) ? [] : [`Origin: ${ORIGIN}`];
    const answer = await sendTarget(ports.auth, { method, target: path, headers: [...origin, ...own] });
    const lines = answer.head.split('\r\n').slice(1);
    const answered = new Headers(
      lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    );
    const documented = method === 'OPTIONS' ? 'GET' : method;
    const head = checkAnswer({ method: documented, path, status: answer.status, headers: answered });
    expect([answer.status, JSON.parse(answer.body).error]).toEqual([status, error]);
    expect([...head.problems, ...head.checkJson(JSON.parse(answer.body))]).toEqual([]);
  });

  it('is none for a preflight of the allowed origin', async () => {
    const answer = await sendTarget(ports.auth, {
      method: 'OPTIONS',
      target: '/console/keys',
      headers: [`Origin: ${ORIGIN}`],
    });
    expect([answer.status, answer.body]).toEqual([204, '']);
  });
});
