import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { generateSigningKey, publicKeysSchema, signingKeySchema, toPublicKey } from '@turnpike/config/internalKeys';
import { PAGE_ENTRIES, signPage } from '@turnpike/feed/feedPage';
import { applyAll } from '@turnpike/feed/followFeed';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { until } from '@turnpike/test-support/until';
import fc from 'fast-check';
import { followWorkspaces } from '../src/feed/followWorkspaces.ts';
import { applyWorkspace } from '../src/workspaces/applyWorkspace.ts';
import { putAWorkspace, registerAKey, verify } from './builders.ts';
import { announcementHeard, startAuth, type TestAuth } from './startAuth.ts';

const KEY = generateSigningKey('global/control-plane');
const key = signingKeySchema.parse(KEY);
const keys = publicKeysSchema.parse(toPublicKey(KEY));

let auth: TestAuth;
beforeAll(async () => {
  auth = await startAuth();
});
afterAll(() => auth.stop());
beforeEach(empty);

async function empty(): Promise<void> {
  await auth.db.execute(sql`TRUNCATE workspace, api_key`);
  await auth.db.execute(sql`UPDATE feed_cursor SET epoch = NULL, seq = 0, chain = NULL`);
}

type Document = ReturnType<typeof aDocument>;
const aDocument = (fields: { version: number; id?: string; status?: string; cap?: string | null }) => ({
  kind: 'workspace' as const,
  workspace_id: `ws_${fields.id ?? 'a'}`,
  organization_id: `org_${fields.id ?? 'a'}`,
  name: `Name ${fields.version}`,
  status: (fields.status ?? 'active') as 'active' | 'on_hold' | 'not_provisioned',
  monthly_cap_nano_usd: fields.cap === undefined ? String(fields.version * 100) : fields.cap,
  version: fields.version,
});

/** Follows a feed with these documents to its end. */
async function follow(documents: Document[], { epoch = 'e1' } = {}): Promise<void> {
  await applyAll(
    {
      keys,
      region: 'us',
      db: auth.db,
      applyEntry: async (tx, entry) => {
        if (entry.kind === 'workspace') await applyWorkspace(tx, entry, 'us');
      },
    },
    async (after) => {
      const entries = documents.map((document, index) => ({ ...document, seq: index + 1 }));
      const page = { region: 'us' as const, epoch, after, last: entries.length };
      return signPage({ ...page, entries: entries.slice(after, after + PAGE_ENTRIES) }, key);
    },
  );
}

const readState = () =>
  auth.db.workspace.findMany({
    select: { workspaceId: true, name: true, accountStatus: true, accountCapNanoUsd: true, accountVersion: true },
    orderBy: { workspaceId: 'asc' },
  });

const gateOf = async (apiKey: string) => (await verify(auth, apiKey)).key.workspace;

it('makes a workspace that the region did not know, and changes it by its newer documents', async () => {
  await follow([aDocument({ version: 1, status: 'not_provisioned' })]);
  const { apiKey } = await registerAKey(auth, { workspace_id: 'ws_a' });
  expect(await gateOf(apiKey)).toMatchObject({ billingStatus: 'not_provisioned', monthlyCapNanoUsd: '100' });
  await follow([aDocument({ version: 1 }), aDocument({ version: 2, cap: null })]);
  expect(await gateOf(apiKey)).toMatchObject({ billingStatus: 'active', monthlyCapNanoUsd: null });
});

it.each([
  ['active', 'active', 'active'],
  ['active', 'on_hold', 'on_hold'],
  ['on_hold', 'active', 'on_hold'],
  ['on_hold', 'not_provisioned', 'not_provisioned'],
  ['not_provisioned', 'on_hold', 'not_provisioned'],
])('goes by the stricter status: %s of the operator, %s of the account layer', async (own, account, stricter) => {
  const { workspaceId, body } = await putAWorkspace(auth, { billing_status: own });
  const { apiKey } = await registerAKey(auth, { workspace_id: workspaceId });
  const document = { ...aDocument({ version: 1, status: account }), workspace_id: workspaceId };
  await follow([{ ...document, organization_id: body.organization_id }]);
  expect((await gateOf(apiKey)).billingStatus).toBe(stricter);
});

it.each([
  ['50', '40', '40'],
  ['40', '50', '40'],
  [null, '50', '50'],
  ['50', null, '50'],
  [null, null, null],
])('goes by the lower cap: %s of the operator, %s of the account layer', async (own, account, lower) => {
  const { workspaceId, body } = await putAWorkspace(auth, { monthly_cap_nano_usd: own });
  const { apiKey } = await registerAKey(auth, { workspace_id: workspaceId });
  const document = { ...aDocument({ version: 1, cap: account }), workspace_id: workspaceId };
  await follow([{ ...document, organization_id: body.organization_id }]);
  expect((await gateOf(apiKey)).monthlyCapNanoUsd).toBe(lower);
});

it('keeps the hold of the one side when the other releases', async () => {
  await follow([aDocument({ version: 1, status: 'on_hold' })]);
  const { apiKey } = await registerAKey(auth, { workspace_id: 'ws_a' });
  const { body: shown } = await auth.callInternal('POST', '/internal/workspaces/ws_a/hold');
  expect(shown).toMatchObject({ billing_status: 'on_hold', account_status: 'on_hold', account_cap_nano_usd: '100' });
  await follow([aDocument({ version: 1 }), aDocument({ version: 2 })]);
  expect((await gateOf(apiKey)).billingStatus).toBe('on_hold');
  await auth.callInternal('POST', '/internal/workspaces/ws_a/release');
  expect((await gateOf(apiKey)).billingStatus).toBe('active');
});

it('refuses a second workspace of an organization, and another organization of a workspace', async () => {
  await follow([aDocument({ version: 1 })]);
  const second = { ...aDocument({ version: 1, id: 'b' }), organization_id: 'org_a' };
  await expect(follow([aDocument({ version: 1 }), second])).rejects.toThrow('contradicts');
  const moved = { ...aDocument({ version: 2 }), organization_id: 'org_b' };
  await expect(follow([aDocument({ version: 1 }), moved])).rejects.toThrow('contradicts');
  expect(await readState()).toMatchObject([{ workspaceId: 'ws_a', accountVersion: 1 }]);
});

it('tells the router of a change until the router has heard, also while the control plane is away', async () => {
  await follow([aDocument({ version: 1 })]);
  const { keyId } = await registerAKey(auth, { workspace_id: 'ws_a' });
  let answers = 0;
  auth.answerAnnouncements((req, res) => {
    answers += 1;
    if (answers === 1) res.statusCode = 503;
    announcementHeard(req, res);
  });
  const told = auth.announced.length;
  await follow([aDocument({ version: 1 }), aDocument({ version: 2, status: 'on_hold' })]);
  const forgetVerdicts = jest.fn();
  const following = followWorkspaces({
    url: 'http://127.0.0.1:1',
    internalHeaders: () => ({}),
    keys,
    region: 'us',
    db: auth.db,
    router: auth.router,
    forgetVerdicts,
    meter: noTelemetry.meter,
    log: aSilentLogger(),
  });
  await until(
    'the router to have heard',
    async () => (await auth.db.workspace.count({ where: { isGateTold: true } })) === 1,
  );
  await following?.close();
  const telling = `PUT /internal/workspaces/ws_a/keys/${keyId}/generation?generation=3`;
  expect(auth.announced.slice(told)).toEqual([telling, telling]);
  expect(forgetVerdicts).toHaveBeenCalled();
});

it('comes to one state by whatever way: replayed, shuffled, cut, and either side restored', async () => {
  const ids = ['a', 'b', 'c'];
  const newest = ids.map((id) => ({ workspaceId: `ws_${id}`, accountVersion: 5, accountCapNanoUsd: 500n }));
  const all = ids.flatMap((id) => [1, 2, 3, 4, 5].map((version) => aDocument({ id, version })));
  const way = fc.record({
    order: fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }),
    again: fc.shuffledSubarray(all),
    cuts: fc.array(fc.nat(all.length), { maxLength: 4 }),
    regionIsRestored: fc.boolean(),
    planeIsRestored: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(way, async ({ order, again, cuts, regionIsRestored, planeIsRestored }) => {
      await empty();
      const feed = [...order, ...again];
      for (const cut of cuts) await follow(feed.slice(0, Math.max(cut, await readSeq())));
      if (regionIsRestored) {
        const backup = await takeBackup();
        await follow(feed);
        await restore(backup);
      }
      await follow(feed);
      if (planeIsRestored) {
        // The region keeps the documents that the backup of the account database lacks.
        await follow(order.slice(0, 7), { epoch: 'e2' });
        expect(await readState()).toMatchObject(newest);
        await follow([...order.slice(0, 7), ...again], { epoch: 'e2' });
      }
      expect(await readState()).toMatchObject(newest);
    }),
    { numRuns: 100, seed: 20_261_128 },
  );
});

const readSeq = async (): Promise<number> =>
  (await auth.db.query(sql<{ seq: number }>`SELECT seq FROM feed_cursor`))[0]?.seq ?? 0;

async function takeBackup() {
  const cursors = await auth.db.query(sql<{ epoch: string | null; seq: number }>`SELECT epoch, seq FROM feed_cursor`);
  return { workspaces: await auth.db.workspace.findMany(), cursor: cursors[0] };
}

async function restore({ workspaces, cursor }: Awaited<ReturnType<typeof takeBackup>>): Promise<void> {
  await auth.db.execute(sql`TRUNCATE workspace, api_key`);
  await auth.db.workspace.createMany({ data: workspaces });
  await auth.db.execute(
    sql`UPDATE feed_cursor SET epoch = ${cursor?.epoch ?? null}, seq = ${cursor?.seq ?? 0}, chain = NULL`,
  );
}

it('leaves the name of a workspace to the account layer that knows it', async () => {
  await follow([aDocument({ version: 1 })]);
  const rename = (name: string) => auth.callInternal('PUT', '/internal/workspaces/ws_a/name', { name });
  expect(await rename('Other')).toMatchObject({ status: 409, body: { error: 'workspace_named_by_account' } });
  expect(await rename('Name 1')).toMatchObject({ status: 200, body: { name: 'Name 1' } });
});
