import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { verifyPage } from '@turnpike/feed/feedPage';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { type Client, createClient } from '@turnpike/internal-api/transport/createClient';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { sql } from '@turnpike/postgres/sql';
import { readPage } from '../src/feed/feed.ts';
import { type Browser, startAccount, type TestAccount, untilBlocked } from './startAccount.ts';
import { type OperatorListener, startOperatorListener } from './startOperatorListener.ts';

let account: TestAccount;
let listener: OperatorListener;
/** Calls the control plane as the operator of a region, in the name of a person. */
let operator: Client<typeof controlPlaneApi>;
beforeAll(async () => {
  account = await startAccount();
  listener = await startOperatorListener(account);
  operator = toClient('operator', 'alice');
});
afterAll(async () => {
  await listener.stop();
  await account.stop();
});

function toClient(service: string, user?: string): Client<typeof controlPlaneApi> {
  const internalHeaders = createTokenIssuer({
    key: listener.region.keyOf(service),
    ...(user !== undefined && { user }),
  });
  return createClient(controlPlaneApi, { url: listener.url, internalHeaders, timeoutMs: 30_000 });
}

async function anOrganization(address: string): Promise<{ owner: Browser & { userId: string }; id: string }> {
  const owner = await account.signIn(address);
  const { body } = await owner.post('/account/organizations', { name: 'Acme' });
  return { owner, id: body.organization_id };
}

const addWorkspace = async (owner: Browser, id: string, region: 'us' | 'eu'): Promise<string> =>
  (await owner.post(`/account/organizations/${id}/workspaces`, { region, name: region })).body.workspace_id;

const openHold = (id: string, reason: 'dispute' | 'legal' = 'dispute') =>
  operator.openHold({ params: { organization_id: id }, body: { reason, note: 'a note' } });
const endHold = (hold: { hold_id: string }) => operator.endHold({ params: { hold_id: hold.hold_id } });

/** Returns status and version of a workspace in the last entry that its region was told. */
async function told(region: 'us' | 'eu', workspaceId: string): Promise<[string, number] | undefined> {
  const { global } = listener;
  const page = await readPage(account.db, { region, after: 0 }, global.keyOf('control-plane'));
  const { entries } = await verifyPage(page, { keys: global.publicKeys, region, after: 0 });
  const last = entries.findLast((entry) => entry.kind === 'workspace' && entry.workspace_id === workspaceId);
  return last?.kind === 'workspace' ? [last.status, last.version] : undefined;
}

it('holds every workspace of an organization in its region until the last hold has ended', async () => {
  const { owner, id } = await anOrganization('held@example.com');
  const us = await addWorkspace(owner, id, 'us');
  const eu = await addWorkspace(owner, id, 'eu');
  expect([await told('us', us), await told('eu', eu)]).toEqual([
    ['active', 1],
    ['not_provisioned', 1],
  ]);

  const dispute = await openHold(id);
  const legal = await openHold(id, 'legal');
  expect([await told('us', us), await told('eu', eu)]).toEqual([
    ['on_hold', 3],
    ['on_hold', 3],
  ]);
  expect(await endHold(dispute)).toMatchObject({ ended_by: 'operator:alice', ended_at: expect.any(String) });
  expect((await told('us', us))?.[0]).toBe('on_hold');
  await endHold(legal);
  expect([await told('us', us), await told('eu', eu)]).toEqual([
    ['active', 5],
    ['not_provisioned', 5],
  ]);
});

it('leaves another organization as it is', async () => {
  const mine = await anOrganization('mine@example.com');
  const theirs = await anOrganization('theirs@example.com');
  const workspace = await addWorkspace(theirs.owner, theirs.id, 'us');
  const before = await told('us', workspace);
  await openHold(mine.id);
  expect(await told('us', workspace)).toEqual(before);
  expect((await operator.getOrganization({ params: { organization_id: theirs.id } })).is_on_hold).toBe(false);
});

it('ends a hold once, whoever asks again', async () => {
  const { owner, id } = await anOrganization('again@example.com');
  const workspace = await addWorkspace(owner, id, 'us');
  const hold = await openHold(id);
  const ended = await Promise.all([endHold(hold), endHold(hold), endHold(hold)]);
  expect(new Set(ended.map(({ ended_at }) => ended_at)).size).toBe(1);
  expect(await told('us', workspace)).toEqual(['active', 3]);
  const lines = await account.db.audit.findMany({ where: { target: hold.hold_id }, orderBy: { auditId: 'asc' } });
  expect(lines.map(({ action }) => action)).toEqual(['hold.opened', 'hold.ended']);
});

it('puts a workspace on hold that is made while a hold is open, or at the same moment', async () => {
  const { owner, id } = await anOrganization('during@example.com');
  const [workspace, hold] = await Promise.all([addWorkspace(owner, id, 'us'), openHold(id)]);
  const later = await addWorkspace(owner, id, 'eu');
  expect([(await told('us', workspace))?.[0], (await told('eu', later))?.[0]]).toEqual(['on_hold', 'on_hold']);
  await endHold(hold);
  expect([(await told('us', workspace))?.[0], (await told('eu', later))?.[0]]).toEqual(['active', 'not_provisioned']);
});

it('ends with the state of the holds, however many are opened and ended at once', async () => {
  const { owner, id } = await anOrganization('race@example.com');
  const workspace = await addWorkspace(owner, id, 'us');
  const holds = await Promise.all([1, 2, 3, 4].map(() => openHold(id)));
  await Promise.all(holds.map(endHold));
  expect(await told('us', workspace)).toEqual(['active', 9]);
});

it('shows the operator organizations, members, audit and holds, and names the person in the audit', async () => {
  const { owner, id } = await anOrganization('shown@example.com');
  const workspace = await addWorkspace(owner, id, 'us');
  const hold = await openHold(id, 'legal');
  const params = { organization_id: id };
  expect(await operator.getOrganization({ params })).toMatchObject({
    name: 'Acme',
    is_on_hold: true,
    workspaces: [{ workspace_id: workspace, region: 'us', status: 'on_hold', version: 2 }],
  });
  const { organizations } = await operator.listOrganizations({ params: {} });
  expect(organizations).toContainEqual(expect.objectContaining({ organization_id: id, is_on_hold: true }));
  expect(await operator.listMembers({ params })).toEqual({
    members: [expect.objectContaining({ user_id: owner.userId, role: 'owner', address: 'shown@example.com' })],
  });
  const { lines } = await operator.listAudit({ params });
  expect(lines[0]).toMatchObject({ actor: 'operator:alice', action: 'hold.opened', target: hold.hold_id });
  expect((await operator.listHolds({ params })).holds).toEqual([hold]);
  expect((await operator.listOpenHolds({ params: {} })).holds).toContainEqual(hold);
  await endHold(hold);
  expect((await operator.listOpenHolds({ params: {} })).holds.map(({ hold_id }) => hold_id)).not.toContain(
    hold.hold_id,
  );
});

it('shows members that the operator did something, and neither who it was nor the note', async () => {
  const { owner, id } = await anOrganization('discreet@example.com');
  await openHold(id, 'legal');
  const { body } = await owner.get(`/account/organizations/${id}/audit`);
  expect(body.lines[0]).toMatchObject({
    actor: 'operator',
    action: 'hold.opened',
    address: null,
    before: null,
    after: null,
  });
  expect(JSON.stringify(body)).not.toMatch(/alice|a note|legal/);
});

describe('a verification', () => {
  const aCheck = { kind: 'document', provider: 'checker', status: 'processing' } as const;

  it('is recorded by its reference, once, and keeps when it was decided and redacted', async () => {
    const { owner, id } = await anOrganization('verified@example.com');
    const params = { organization_id: id };
    const body = { ...aCheck, user_id: owner.userId, provider_reference: 'vs_1' };
    const added = await operator.addVerification({ params, body });
    expect(added).toMatchObject({ requested_by: 'operator:alice', status: 'processing', decided_at: null });
    await expect(operator.addVerification({ params, body })).rejects.toMatchObject({
      failure: { status: 409, fault: 'verification_exists' },
    });
    const set = (status: 'verified' | 'canceled', is_redacted = false) =>
      operator.setVerification({
        params: { verification_id: added.verification_id },
        body: { status, is_redacted, expires_at: '2030-01-01T00:00:00Z' },
      });
    const decided = await set('verified');
    expect(decided).toMatchObject({ status: 'verified', decided_at: expect.any(String), redacted_at: null });
    const redacted = await set('verified', true);
    expect(redacted).toMatchObject({ decided_at: decided.decided_at, redacted_at: expect.any(String) });
    expect((await set('verified')).redacted_at).toBe(redacted.redacted_at);
    expect((await operator.listVerifications({ params })).verifications).toHaveLength(1);
  });

  it('stays redacted where another state is set meanwhile', async () => {
    const { owner, id } = await anOrganization('redacted@example.com');
    const body = { ...aCheck, user_id: owner.userId, provider_reference: 'vs_redacted' };
    const { verification_id: verificationId } = await operator.addVerification({
      params: { organization_id: id },
      body,
    });
    const setting = await account.db.$transaction(async (tx) => {
      await tx.$queryRaw(sql`SELECT set_config('idle_in_transaction_session_timeout', '0', true)`);
      await tx.verification.update({ where: { verificationId }, data: { redactedAt: new Date() } });
      const state = { status: 'verified', is_redacted: false, expires_at: null } as const;
      // In a list, so that the transaction does not wait for the answer.
      const answer = [operator.setVerification({ params: { verification_id: verificationId }, body: state })];
      await untilBlocked(account.db);
      return answer;
    });
    const [set] = await Promise.all(setting);
    expect(set).toMatchObject({ status: 'verified', redacted_at: expect.any(String) });
  });

  it('is of a member, or of the organization', async () => {
    const { id } = await anOrganization('whose@example.com');
    const stranger = await account.signIn('stranger@example.com');
    const params = { organization_id: id };
    const body = { ...aCheck, provider_reference: 'vs_2' };
    await expect(
      operator.addVerification({ params, body: { ...body, user_id: stranger.userId } }),
    ).rejects.toMatchObject({ failure: { status: 404, fault: 'unknown_member' } });
    expect((await operator.addVerification({ params, body })).user_id).toBeNull();
  });
});

it('answers 404 for what there is not', async () => {
  const params = { organization_id: 'org_none' };
  const refused = (fault: string) => ({ failure: { status: 404, fault } });
  await expect(operator.getOrganization({ params })).rejects.toMatchObject(refused('organization_not_found'));
  await expect(operator.listMembers({ params })).rejects.toMatchObject(refused('organization_not_found'));
  await expect(openHold('org_none')).rejects.toMatchObject(refused('organization_not_found'));
  await expect(endHold({ hold_id: 'hold_none' })).rejects.toMatchObject(refused('hold_not_found'));
});

it('serves the operator and no service of a region', async () => {
  const auth = toClient('auth');
  const refused = { failure: { status: 403, fault: 'caller_not_allowed' } };
  await expect(auth.listOrganizations({ params: {} })).rejects.toMatchObject(refused);
  await expect(auth.endHold({ params: { hold_id: 'hold_none' } })).rejects.toMatchObject(refused);
  await expect(operator.readFeed({ params: { after: 0 } })).rejects.toMatchObject(refused);
});
