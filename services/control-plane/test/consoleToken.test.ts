import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { verifyConsoleToken } from '@turnpike/internal-auth/consoleToken';
import { fleet, startAccount, type TestAccount } from './startAccount.ts';

let account: TestAccount;
beforeAll(async () => {
  account = await startAccount();
});
afterAll(() => account.stop());

const verify = (token: string, { region = 'eu', now = new Date() }: { region?: 'us' | 'eu'; now?: Date } = {}) =>
  verifyConsoleToken(token, { region, keys: fleet.publicKeys, now });
const afterMs = (ms: number) => new Date(Date.now() + ms);

async function aWorkspace(address: string) {
  const owner = await account.signIn(address);
  const { body: organization } = await owner.post('/account/organizations', { name: 'Acme' });
  const path = `/account/organizations/${organization.organization_id}/workspaces`;
  const { body: workspace } = await owner.post(path, { region: 'eu', name: 'Europe' });
  return { owner, organizationId: organization.organization_id, workspaceId: workspace.workspace_id, path };
}

it('gives a member a token of 5 minutes for the workspace, its region and the role', async () => {
  const { owner, organizationId, workspaceId, path } = await aWorkspace('owner@example.com');
  const viewer = await account.signIn('viewer@example.com');
  await account.db.member.create({ data: { organizationId, userId: viewer.userId, role: 'billing_viewer' } });
  for (const [person, role] of [
    [owner, 'owner'],
    [viewer, 'billing_viewer'],
  ] as const) {
    const { status, body } = await person.post(`${path}/${workspaceId}/console-token`);
    expect([status, body.region]).toEqual([201, 'eu']);
    expect(await verify(body.token)).toEqual({ userId: person.userId, organizationId, workspaceId, role });
    expect(Date.parse(body.ends_at) - Date.now()).toBeLessThanOrEqual(5 * 60_000);
    expect(Date.parse(body.ends_at) - Date.now()).toBeGreaterThan(4 * 60_000);
    await expect(verify(body.token, { region: 'us' })).rejects.toThrow('"aud"');
    await expect(verify(body.token, { now: afterMs(5 * 60_000) })).rejects.toThrow('expired');
    await expect(verify(body.token, { now: afterMs(6 * 60_000 + 1_000) })).rejects.toThrow('"exp"');
  }
});

it('names the hosts of the regions that it is set up with', async () => {
  const owner = await account.signIn('hosts@example.com');
  expect((await owner.get('/account/regions')).body).toEqual({
    regions: [{ region: 'eu', console_url: 'https://console.eu.example', base_url: 'https://api.eu.example/v1' }],
  });
});

it('gives no token for a workspace of another organization', async () => {
  const other = await aWorkspace('other@example.com');
  const { owner, path } = await aWorkspace('stranger@example.com');
  const { status, body } = await owner.post(`${path}/${other.workspaceId}/console-token`);
  expect([status, body.error]).toEqual([404, 'unknown_workspace']);
});

it('gives no token to a member who was removed', async () => {
  const { organizationId, workspaceId, path } = await aWorkspace('founder@example.com');
  const member = await account.signIn('member@example.com');
  const row = { organizationId, userId: member.userId };
  await account.db.member.create({ data: { ...row, role: 'developer' } });
  expect((await member.post(`${path}/${workspaceId}/console-token`)).status).toBe(201);
  await account.db.member.delete({ where: { organizationId_userId: row } });
  expect((await member.post(`${path}/${workspaceId}/console-token`)).body.error).toBe('organization_not_found');
});
