import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { type RunningTelemetry, startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { until } from '@turnpike/test-support/until';
import { compareWorkspaces } from '../../services/auth/src/feed/compareWorkspaces.ts';
import { followWorkspaces } from '../../services/auth/src/feed/followWorkspaces.ts';
import { startAuth, type TestAuth } from '../../services/auth/test/startAuth.ts';
import { startAccount, type TestAccount } from '../../services/control-plane/test/startAccount.ts';
import {
  type OperatorListener,
  startOperatorListener,
} from '../../services/control-plane/test/startOperatorListener.ts';

// auth of `us` and the control plane, over the wire.

let account: TestAccount;
let listener: OperatorListener;
let auth: TestAuth;
let telemetry: RunningTelemetry;
let following: NonNullable<ReturnType<typeof followWorkspaces>>;
let comparing: NonNullable<ReturnType<typeof compareWorkspaces>>;
const alerts: { workspaceIds: string[] }[] = [];
beforeAll(async () => {
  account = await startAccount();
  listener = await startOperatorListener(account);
  auth = await startAuth();
  const log = Object.assign(aSilentLogger(), { error: (facts: { workspaceIds: string[] }) => alerts.push(facts) });
  telemetry = startTelemetry({
    ...{ service: 'auth', scope: 'us', otlpEndpoint: undefined, traceSampleRatio: 0 },
    log,
  });
  const follower = {
    url: listener.url,
    internalHeaders: createTokenIssuer({ key: listener.region.keyOf('auth') }),
    keys: listener.global.publicKeys,
    region: 'us' as const,
    db: auth.db,
    meter: telemetry.meter,
    log,
  };
  const followed = followWorkspaces({ ...follower, router: auth.router, forgetVerdicts: () => {} });
  const compared = followed && compareWorkspaces({ ...follower, following: followed });
  if (!followed || !compared) throw new Error('nothing is followed');
  [following, comparing] = [followed, compared];
});
afterAll(async () => {
  await comparing.close();
  await following.close();
  await telemetry.shutdown();
  await auth.stop();
  await listener.stop();
  await account.stop();
});
let organizationId: string;
let workspaceId: string;
let owner: Awaited<ReturnType<TestAccount['signIn']>>;
beforeEach(async () => {
  owner = await account.signIn(`${randomUUID()}@example.com`);
  organizationId = (await owner.post('/account/organizations', { name: 'Acme' })).body.organization_id;
  const path = `/account/organizations/${organizationId}/workspaces`;
  workspaceId = (await owner.post(path, { region: 'us', name: 'Acme US' })).body.workspace_id;
  alerts.length = 0;
});

const setCap = (cap: string | null) =>
  owner.send('PATCH', `/account/organizations/${organizationId}/workspaces/${workspaceId}`, {
    monthly_cap_nano_usd: cap,
  });

const readDiffering = async () => (await readMetrics(telemetry)).get('turnpike_feed_digest_differing');
/** Compares until so many workspaces differ. */
const untilDiffering = (count: number) =>
  until(`${count} workspaces that differ`, async () => {
    await comparing.now();
    return (await readDiffering()) === count;
  });

it('finds no difference while each change has its entry, however changes and comparisons meet', async () => {
  let isOver = false;
  let rounds = 0;
  const changing = (async () => {
    for (let cap = 1; cap <= 30 || rounds < 2; cap += 1) expect((await setCap(String(cap))).status).toBe(200);
    isOver = true;
  })();
  while (!isOver) {
    await comparing.now();
    rounds += 1;
  }
  await changing;
  await comparing.now();
  expect([await readDiffering(), alerts]).toEqual([0, []]);
});

it.each<[string, () => Promise<unknown>]>([
  [
    'a cap',
    () => account.db.$executeRaw`UPDATE workspace SET monthly_cap_nano_usd = 7 WHERE workspace_id = ${workspaceId}`,
  ],
  [
    'a hold',
    () => account.db.$executeRaw`
      INSERT INTO account_hold (hold_id, organization_id, reason, note, opened_by)
      VALUES (${`hold_${randomUUID()}`}, ${organizationId}, 'operator', '', 'nobody')`,
  ],
  [
    'a status',
    () => account.db.$executeRaw`
      UPDATE workspace SET status = CASE status WHEN 'active' THEN 'not_provisioned' ELSE 'active' END
      WHERE workspace_id = ${workspaceId}`,
  ],
])('finds %s that was changed without an entry, until a change is told', async (_what, change) => {
  await untilDiffering(0);
  await change();
  await untilDiffering(1);
  await comparing.now();
  expect(alerts).toEqual([{ workspaceIds: [workspaceId] }]);
  await setCap('9');
  await untilDiffering(0);
});

it('finds a workspace that the region was never told of', async () => {
  await untilDiffering(0);
  const id = `ws_${randomUUID()}`;
  await account.db.$executeRaw`
    INSERT INTO organization (organization_id, name) VALUES (${id.replace('ws', 'org')}, 'Untold')`;
  await account.db.$executeRaw`
    INSERT INTO workspace (workspace_id, organization_id, region, name) VALUES (${id}, ${id.replace('ws', 'org')}, 'us', 'Untold')`;
  await untilDiffering(1);
  expect(alerts).toEqual([{ workspaceIds: [id] }]);
  await account.db.$executeRaw`UPDATE workspace SET region = 'eu' WHERE workspace_id = ${id}`;
  await untilDiffering(0);
});

it('comes round to every workspace of a region that has more than one digest holds', async () => {
  await untilDiffering(0);
  const prefix = `ws_many_${randomUUID()}`;
  await account.db.$executeRaw`
    INSERT INTO organization (organization_id, name)
    SELECT 'org_' || ${prefix} || lpad(nth::TEXT, 3, '0'), 'Many' FROM generate_series(1, 450) AS nth`;
  await account.db.$executeRaw`
    INSERT INTO workspace (workspace_id, organization_id, region, name, status)
    SELECT ${prefix} || lpad(nth::TEXT, 3, '0'), 'org_' || ${prefix} || lpad(nth::TEXT, 3, '0'), 'us', 'Many', 'active'
    FROM generate_series(1, 450) AS nth`;
  await auth.db.$executeRaw`
    INSERT INTO workspace
      (workspace_id, organization_id, region, name, billing_status, account_status, account_cap_nano_usd, account_version)
    SELECT ${prefix} || lpad(nth::TEXT, 3, '0'), 'org_' || ${prefix} || lpad(nth::TEXT, 3, '0'), 'us', 'Many', 'active', 'active',
      CASE WHEN nth IN (1, 200, 201, 450) THEN 5 END, 1
    FROM generate_series(1, 450) AS nth`;
  await untilDiffering(4);
  expect(alerts.flatMap(({ workspaceIds }) => workspaceIds).sort()).toEqual(
    ['001', '200', '201', '450'].map((nth) => prefix + nth),
  );
  await auth.db.$executeRaw`UPDATE workspace SET account_cap_nano_usd = NULL WHERE workspace_id LIKE ${`${prefix}%`}`;
  await untilDiffering(0);
  for (let round = 0; round < 4; round += 1) await comparing.now();
  expect(await readDiffering()).toBe(0);
});
