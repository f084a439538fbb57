import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateSigningKey, publicKeysSchema, signingKeySchema, toPublicKey } from '@turnpike/config/internalKeys';
import { verifyPage } from '@turnpike/feed/feedPage';
import { readPage, tell } from '../src/feed/feed.ts';
import { createWorkspace } from '../src/organizations/workspaces.ts';
import { startAccount, type TestAccount } from './startAccount.ts';

const KEY = generateSigningKey('global/control-plane');
const keys = publicKeysSchema.parse(toPublicKey(KEY));

let account: TestAccount;
beforeAll(async () => {
  account = await startAccount();
});
afterAll(() => account.stop());

async function read(region: 'us' | 'eu', after = 0) {
  const signed = await readPage(account.db, { region, after }, signingKeySchema.parse(KEY));
  return verifyPage(signed, { keys, region, after });
}

it('tells a region of its workspaces and their credit to begin with, once a user, and no other region', async () => {
  const person = await account.signIn('founder@example.com');
  const ids = [];
  for (const [name, region] of [
    ['First', 'us'],
    ['Second', 'us'],
    ['Third', 'eu'],
  ] as const) {
    const { body } = await person.post('/account/organizations', { name });
    const path = `/account/organizations/${body.organization_id}/workspaces`;
    ids.push((await person.post(path, { region, name })).body.workspace_id);
  }
  expect((await read('us')).entries).toEqual([
    expect.objectContaining({ kind: 'workspace', workspace_id: ids[0], status: 'active', version: 1 }),
    expect.objectContaining({ kind: 'credit', workspace_id: ids[0], nano_usd: 5_000_000_000n }),
    expect.objectContaining({ kind: 'workspace', workspace_id: ids[1], status: 'not_provisioned' }),
  ]);
  expect((await read('eu')).entries).toEqual([expect.objectContaining({ workspace_id: ids[2], seq: 1 })]);
});

it('tells a region of no credit to begin with where it is nothing', async () => {
  const { userId } = await account.signIn('poor@example.com');
  const organizationId = `org_${randomUUID()}`;
  await account.db.organization.create({ data: { organizationId, name: 'Acme' } });
  const { last } = await read('us');
  const origin = { address: '', browser: '', requestId: '' };
  const wanted = { organizationId, userId, region: 'us' as const, name: 'Acme' };
  const made = await createWorkspace({ db: account.db, welcomeCredit: { nanoUsd: 0n } }, wanted, origin);
  expect(made.status).toBe('active');
  expect((await read('us', last)).entries).toEqual([expect.objectContaining({ kind: 'workspace', status: 'active' })]);
});

it('skips no entry for a reader, whoever writes at once and whatever is rolled back', async () => {
  const { last: begin } = await read('eu');
  const entry = (index: number) => ({
    kind: 'credit' as const,
    credit_id: `c${index}`,
    workspace_id: 'ws_1',
    nano_usd: '1',
    note: '',
  });
  let isOver = false;
  const seen: string[] = [];
  const reader = (async () => {
    let after = begin;
    for (;;) {
      const wasOver = isOver;
      const { entries } = await read('eu', after);
      for (const each of entries) if (each.kind === 'credit') seen.push(each.credit_id);
      after += entries.length;
      if (wasOver && entries.length === 0) return;
    }
  })();
  const told: string[] = [];
  // Fewer writers than connections: a reader that waits long for one fails.
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let index = writer * 25; index < (writer + 1) * 25; index += 1) {
      const isKept = index % 10 !== 0;
      const write = account.db.$transaction(async (tx) => {
        await tell(tx, 'eu', entry(index));
        if (!isKept) throw new Error('rolled back');
      });
      if (isKept) await write.then(() => told.push(`c${index}`));
      else await expect(write).rejects.toThrow('rolled back');
    }
  });
  await Promise.all(writers);
  isOver = true;
  await reader;
  expect(told.length).toBe(180);
  expect(seen.toSorted()).toEqual(told.toSorted());
});

it('gives one hash for one history, wherever a page ends', async () => {
  const { last, chain, entries } = await read('us');
  expect(entries.length).toBe(last);
  expect((await read('us', last)).chain).toEqual({ before: chain?.end, end: chain?.end });
  const [first] = await account.db.$queryRaw<{ body: string }[]>`
    SELECT body::TEXT AS body FROM feed WHERE region = 'us' AND seq = 1`;
  const hash = createHash('sha256')
    .update(first?.body ?? '')
    .digest('hex');
  expect((await read('us', 1)).chain).toEqual({ before: hash, end: chain?.end });
  expect((await read('us', 2)).chain?.before).not.toBe(hash);
});

it('lets nobody change what a region was told', async () => {
  await expect(account.db.feed.deleteMany({})).rejects.toThrow(/permission denied/);
});
