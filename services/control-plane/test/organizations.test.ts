import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from '@turnpike/postgres/sql';
import { hashToken, newToken } from '../src/identity/sessions.ts';
import { type Answer, type Browser, startAccount, type TestAccount } from './startAccount.ts';

let account: TestAccount;
let people = 0;
beforeAll(async () => {
  account = await startAccount();
});
afterAll(() => account.stop());

type Person = Browser & { userId: string; address: string };

async function aPerson(): Promise<Person> {
  people += 1;
  const address = `person${people}@example.com`;
  return { ...(await account.signIn(address)), address };
}

async function anOrganization(): Promise<{ owner: Person; path: string; id: string }> {
  const owner = await aPerson();
  const { status, body } = await owner.post('/account/organizations', { name: 'Acme' });
  expect([status, body.role]).toEqual([201, 'owner']);
  return { owner, id: body.organization_id, path: `/account/organizations/${body.organization_id}` };
}

/** Invites a person, who accepts. */
async function join(by: Person, path: string, role: string): Promise<Person> {
  const person = await aPerson();
  const before = account.mails.length;
  expect((await by.post(`${path}/invitations`, { address: person.address, role })).status).toBe(201);
  const token = await account.readToken(person.address, before);
  const { status, body } = await person.post('/account/invitations/accept', { token });
  expect([status, body.role]).toEqual([200, role]);
  return person;
}

it('shows an organization to its members alone', async () => {
  const { owner, path } = await anOrganization();
  expect((await owner.get(path)).body).toMatchObject({ name: 'Acme', role: 'owner' });
  const stranger = await aPerson();
  const [foreign, unknown] = [await stranger.get(path), await stranger.get('/account/organizations/org_none')];
  expect([foreign.status, foreign.body]).toEqual([404, unknown.body]);
  expect((await stranger.get('/account/organizations')).body).toEqual({ organizations: [] });
});

it.each(['', ' \u200b ', '\u3164', 'Ac\u202eme', 'Ac\u2066me', 'Ac\u2028me', 'Ac\nme', 'Ac\ud83d', 'a'.repeat(201)])(
  'names no organization %j',
  async (name) => {
    const answer = await (await aPerson()).post('/account/organizations', { name });
    expect([answer.status, answer.body.param]).toEqual([400, 'name']);
  },
);

it.each(['Ac.me & <Co>', '👩\u200d💻', 'نشر \u200f(ش)', 'का\u200d'])('names an organization %j', async (name) => {
  const { status, body } = await (await aPerson()).post('/account/organizations', { name });
  expect([status, body.name]).toEqual([201, name]);
});

it('lets one of fifty accept an invitation, and only whose address it is', async () => {
  const { owner, path } = await anOrganization();
  const invited = await aPerson();
  const before = account.mails.length;
  await owner.post(`${path}/invitations`, { address: invited.address, role: 'developer' });
  const token = await account.readToken(invited.address, before);
  const stranger = await aPerson();
  expect((await stranger.post('/account/invitations/accept', { token })).status).toBe(404);

  const answers = await Promise.all(
    Array.from({ length: 50 }, () => invited.post('/account/invitations/accept', { token })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const { body } = await owner.get(`${path}/members`);
  expect(body.members.map(({ role }: { role: string }) => role)).toEqual(['owner', 'developer']);
});

it('invites no address of a member, and says whose it is', async () => {
  const { owner, path } = await anOrganization();
  const person = await join(owner, path, 'developer');
  const refused = await owner.post(`${path}/invitations`, { address: person.address, role: 'admin' });
  expect([refused.status, refused.body]).toEqual([
    409,
    { error: 'is_a_member', message: 'This address is that of a member already.' },
  ]);
});

it('sends 500 invitations of an organization in 7 days, and no more', async () => {
  const { owner, path, id } = await anOrganization();
  const send = () => owner.post(`${path}/invitations`, { address: 'more@example.com', role: 'developer' });
  await account.db.invitation.createMany({
    data: Array.from({ length: 499 }, (_, index) => ({
      ...{ invitationId: `inv_${id}_${index}`, organizationId: id, address: `person@${index}.example.com` },
      ...{ role: 'developer', tokenHash: hashToken(newToken()), invitedBy: owner.userId, endsAt: new Date() },
    })),
  });
  expect((await send()).status).toBe(201);
  const refused = await send();
  expect([refused.status, refused.body.error]).toEqual([429, 'too_many_invitations']);
  await account.db.invitation.updateMany({
    where: { invitationId: `inv_${id}_0` },
    data: { createdAt: new Date(Date.now() - 8 * 24 * 3_600_000) },
  });
  expect((await send()).status).toBe(201);
});

it('takes no invitation that was withdrawn, replaced, is 7 days old, or whose sender may not give it any more', async () => {
  const { owner, path, id } = await anOrganization();
  const admin = await join(owner, path, 'admin');
  const invited = await aPerson();
  async function send(by: Person): Promise<{ token: string; invitationId: string }> {
    const before = account.mails.length;
    const { body } = await by.post(`${path}/invitations`, { address: invited.address, role: 'admin' });
    return { token: await account.readToken(invited.address, before), invitationId: body.invitation_id };
  }
  const accept = async (token: string) => (await invited.post('/account/invitations/accept', { token })).status;

  const replaced = await send(owner);
  const withdrawn = await send(owner);
  expect(await accept(replaced.token)).toBe(404);
  expect((await owner.send('DELETE', `${path}/invitations/${withdrawn.invitationId}`)).status).toBe(200);
  expect(await accept(withdrawn.token)).toBe(404);

  const old = await send(owner);
  await account.db.invitation.update({ where: { invitationId: old.invitationId }, data: { endsAt: new Date() } });
  expect(await accept(old.token)).toBe(404);

  const late = await send(admin);
  await account.db.member.update({
    where: { organizationId_userId: { organizationId: id, userId: admin.userId } },
    data: { role: 'developer' },
  });
  expect(await accept(late.token)).toBe(404);
});

it('keeps one owner where two remove each other at once', async () => {
  const { owner, path } = await anOrganization();
  const other = await join(owner, path, 'owner');
  const answers = await Promise.all([
    owner.send('DELETE', `${path}/members/${other.userId}`),
    other.send('DELETE', `${path}/members/${owner.userId}`),
  ]);
  const left = [owner, other].find((_, index) => answers[index]?.status === 200) ?? owner;
  const { body } = await left.get(`${path}/members`);
  expect(body.members.filter(({ role }: { role: string }) => role === 'owner')).toHaveLength(1);
});

it.each<[string, (of: { owner: Person; member: Person; path: string }) => Promise<Answer>]>([
  ['a role', ({ owner, member, path }) => owner.send('PATCH', `${path}/members/${member.userId}`, { role: 'admin' })],
  ['a member who leaves', ({ member, path }) => member.post(`${path}/leave`)],
  ['an invitation', ({ owner, path }) => owner.post(`${path}/invitations`, { address: 'a@b.example', role: 'admin' })],
  ['a second organization', ({ owner }) => owner.post('/account/organizations', { name: 'Acme' })],
  [
    'a removed passkey',
    async ({ owner: { userId, send } }) => {
      const passkeyId = `pk_${newToken()}`;
      const key = {
        credentialId: passkeyId,
        name: 'a key',
        publicKey: Buffer.from('key'),
        counter: 0n,
        transports: [],
      };
      await account.db.passkey.create({ data: { passkeyId, userId, ...key } });
      return send('DELETE', `/account/passkeys/${passkeyId}`);
    },
  ],
])('lets %s wait for no transaction that wrote a line of the audit or a session', async (_what, change) => {
  const { owner, path, id } = await anOrganization();
  const member = await join(owner, path, 'developer');
  await account.db.$transaction(async (tx) => {
    await tx.$queryRaw(sql`SELECT set_config('idle_in_transaction_session_timeout', '0', true)`);
    // The lock of each row that references these.
    await tx.$queryRaw(sql`SELECT 1 AS one FROM organization WHERE organization_id = ${id} FOR KEY SHARE`);
    await tx.$queryRaw(sql`SELECT 1 AS one FROM account_user WHERE user_id = ${owner.userId} FOR KEY SHARE`);
    expect((await change({ owner, member, path })).status).toBeLessThan(300);
  });
});

it('refuses to let the last owner go, in any way', async () => {
  const { owner, path } = await anOrganization();
  const ways = [
    await owner.send('DELETE', `${path}/members/${owner.userId}`),
    await owner.post(`${path}/leave`),
    await owner.send('PATCH', `${path}/members/${owner.userId}`, { role: 'admin' }),
  ];
  expect(ways.map(({ status, body }) => [status, body.error])).toEqual(Array(3).fill([409, 'last_owner']));
});

it('lets nobody give or take more than they have', async () => {
  const { owner, path } = await anOrganization();
  const admin = await join(owner, path, 'admin');
  const toOwner = { address: 'next@example.com', role: 'owner' };
  const { body: invitation } = await owner.post(`${path}/invitations`, toOwner);
  const refused = [
    await admin.send('DELETE', `${path}/members/${owner.userId}`),
    await admin.send('PATCH', `${path}/members/${admin.userId}`, { role: 'owner' }),
    await admin.post(`${path}/invitations`, { address: 'new@example.com', role: 'owner' }),
    await admin.post(`${path}/invitations`, { ...toOwner, role: 'developer' }),
    await admin.send('DELETE', `${path}/invitations/${invitation.invitation_id}`),
  ];
  expect(refused.map(({ status, body }) => [status, body.error])).toEqual(Array(5).fill([403, 'above_own_role']));
  expect((await owner.send('DELETE', `${path}/invitations/${invitation.invitation_id}`)).status).toBe(200);
});

it('keeps the names of those who have left beside the members, as their changes stay', async () => {
  const { owner, path } = await anOrganization();
  const removed = await join(owner, path, 'admin');
  const left = await join(owner, path, 'developer');
  const back = await join(owner, path, 'developer');
  await left.post(`${path}/leave`);
  for (const { userId } of [removed, back]) await owner.send('DELETE', `${path}/members/${userId}`);
  const before = account.mails.length;
  await owner.post(`${path}/invitations`, { address: back.address, role: 'developer' });
  const token = await account.readToken(back.address, before);
  expect((await back.post('/account/invitations/accept', { token })).status).toBe(200);
  const { body } = await owner.get(`${path}/members`);
  expect(body.members.map(({ user_id: id }: { user_id: string }) => id)).toEqual([owner.userId, back.userId]);
  expect(body.former_members).toEqual(
    [removed, left].map(({ userId, address }) => ({ user_id: userId, name: address.replace(/@.*/, '') })),
  );
  const other = await anOrganization();
  expect((await other.owner.get(`${other.path}/members`)).body.former_members).toEqual([]);
});

it('refuses a member who was removed at the next request', async () => {
  const { owner, path } = await anOrganization();
  const member = await join(owner, path, 'developer');
  expect((await member.get(path)).status).toBe(200);
  await owner.send('DELETE', `${path}/members/${member.userId}`);
  expect((await member.get(path)).status).toBe(404);
});

it('makes one workspace a region, of fifty at once', async () => {
  const { owner, path } = await anOrganization();
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => owner.post(`${path}/workspaces`, { region: 'eu', name: 'Europe' })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(answers.filter(({ status, body }) => status === 409 && body.error === 'workspace_exists')).toHaveLength(49);
  expect((await owner.post(`${path}/workspaces`, { region: 'us', name: 'States' })).status).toBe(201);
  const { body } = await owner.get(`${path}/workspaces`);
  expect(body.workspaces.map(({ region }: { region: string }) => region)).toEqual(['eu', 'us']);
});

it('has a line for every change, and none for what was refused', async () => {
  const { owner, path } = await anOrganization();
  const member = await join(owner, path, 'developer');
  await owner.send('PATCH', path, { name: 'Acme Ltd' });
  await owner.send('PATCH', `${path}/members/${member.userId}`, { role: 'admin' });
  await owner.post(`${path}/leave`);
  const { body } = await owner.get(`${path}/audit`);
  expect(body.next).toBeNull();
  expect(body.lines.map(({ action }: { action: string }) => action)).toEqual([
    'member.role_changed',
    'organization.renamed',
    'invitation.accepted',
    'invitation.sent',
    'organization.created',
  ]);
  expect(body.lines[0]).toMatchObject({
    actor: owner.userId,
    target: member.userId,
    before: { role: 'developer' },
    after: { role: 'admin' },
    address: '127.0.0.1',
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(JSON.stringify(body)).not.toMatch(/[\w-]{43}/);
});

it('has the name of before in the line of each of eight names at once', async () => {
  const { owner, path } = await anOrganization();
  await Promise.all(Array.from({ length: 8 }, (_, index) => owner.send('PATCH', path, { name: `Acme ${index}` })));
  const { body } = await owner.get(`${path}/audit`);
  const names = body.lines.toReversed().map(({ after }: { after: { name: string } }) => after.name);
  const before = body.lines.toReversed().map((line: { before: { name: string } | null }) => line.before?.name);
  expect(before).toEqual([undefined, ...names.slice(0, -1)]);
});

it('gives the service no right to change the audit', async () => {
  await expect(account.db.audit.deleteMany({})).rejects.toThrow(/permission denied/);
});

it('lets a user belong to 20 organizations', async () => {
  const person = await aPerson();
  const create = async (index: number) =>
    (await person.post('/account/organizations', { name: `No. ${index}` })).status === 201;
  // On a busy machine some of these wait for a connection longer than a request may.
  const atOnce = await Promise.all(Array.from({ length: 25 }, (_, index) => create(index)));
  let created = atOnce.filter(Boolean).length;
  for (let index = 25; index < 50; index += 1) if (await create(index)) created += 1;
  expect(created).toBe(20);
});

it('changes name and cap of a workspace, alone or together, and tells its region once a change', async () => {
  const { owner, path } = await anOrganization();
  const { body: made } = await owner.post(`${path}/workspaces`, { region: 'eu', name: 'Europe' });
  expect(made).toMatchObject({ status: 'active', monthly_cap_nano_usd: null });
  const workspace = `${path}/workspaces/${made.workspace_id}`;
  const admin = await join(owner, path, 'admin');
  const change = async (body: object) => (await admin.send('PATCH', workspace, body)).body;
  expect(await change({ monthly_cap_nano_usd: '9007199254740991' })).toEqual({
    ...made,
    monthly_cap_nano_usd: '9007199254740991',
  });
  expect(await change({ name: ' Elsewhere ' })).toMatchObject({
    name: 'Elsewhere',
    monthly_cap_nano_usd: '9007199254740991',
  });
  expect(await change({ name: 'Europe', monthly_cap_nano_usd: null })).toEqual(made);
  expect((await owner.get(`${path}/workspaces`)).body.workspaces).toEqual([made]);

  const told = await account.db.feed.findMany({ where: { region: 'eu' }, orderBy: { seq: 'asc' } });
  const versions = told
    .map(({ body }) => body as { kind: string; workspace_id: string; version: number })
    .filter(({ kind, workspace_id: id }) => kind === 'workspace' && id === made.workspace_id)
    .map(({ version }) => version);
  expect(versions).toEqual([1, 2, 3, 4]);
  const { body } = await owner.get(`${path}/audit`);
  expect(body.lines[0]).toMatchObject({
    action: 'workspace.changed',
    before: { name: 'Elsewhere', monthly_cap_nano_usd: '9007199254740991' },
    after: { name: 'Europe', monthly_cap_nano_usd: null },
  });
});

it('changes no workspace with nothing to change, a cap beyond what is counted exactly, or of others', async () => {
  const { owner, path } = await anOrganization();
  const { body: made } = await owner.post(`${path}/workspaces`, { region: 'us', name: 'States' });
  const refuse = async (by: Person, body: object, at = path) => {
    const answer = await by.send('PATCH', `${at}/workspaces/${made.workspace_id}`, body);
    return [answer.status, answer.body.error];
  };
  for (const cap of ['9007199254740992', '-1', '1.5', '', 1])
    expect(await refuse(owner, { monthly_cap_nano_usd: cap })).toEqual([400, 'invalid_request']);
  expect(await refuse(owner, {})).toEqual([400, 'invalid_request']);
  expect(await refuse(owner, { name: 'x', region: 'eu' })).toEqual([400, 'invalid_request']);
  const other = await anOrganization();
  expect(await refuse(other.owner, { name: 'x' }, other.path)).toEqual([404, 'unknown_workspace']);
  expect((await owner.get(`${path}/workspaces`)).body.workspaces).toEqual([made]);
});
