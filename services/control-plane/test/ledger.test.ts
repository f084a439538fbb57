import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Database } from '@turnpike/postgres/database';
import { migrate } from '@turnpike/postgres/migrate';
import { sql } from '@turnpike/postgres/sql';
import { openPostgres } from '@turnpike/test-support/startPostgres';
import fc from 'fast-check';
import { putDayTotals } from '../src/day-totals/dayTotals.ts';
import { post, type Transfer, walletOf } from '../src/ledger/post.ts';
import { postUsage } from '../src/ledger/postUsage.ts';
import { readWallet } from '../src/ledger/readWallet.ts';
import { crashAt, NEVER } from './crashAt.ts';
import { startAccount, type TestAccount } from './startAccount.ts';

fc.configureGlobal({ seed: 20_261_128 });
/** Changed by hand for a longer search. */
const RUNS = 40;

const epoch = '11111111-1111-4111-8111-111111111111';

let account: TestAccount;
let workspaces = 0;
beforeAll(async () => {
  account = await startAccount();
});
afterAll(() => account.stop());

const aCredit = (workspaceId: string, id: string, amount: bigint): Transfer => ({
  ...{ id, amount, unit: 'nano_usd', code: 'welcome' },
  ...{ debit: 'promo_given', credit: walletOf(workspaceId) },
});

const readSums = () =>
  account.db.query(sql<{ unit: string; difference: string }>`
    SELECT unit, sum(debits - credits)::TEXT AS difference FROM ledger_balance GROUP BY unit`);

/** A workspace with the credit to begin with, 5 USD. */
async function aWorkspace(): Promise<string> {
  workspaces += 1;
  const owner = await account.signIn(`owner${workspaces}@example.com`);
  const { body } = await owner.post('/account/organizations', { name: 'Acme' });
  const path = `/account/organizations/${body.organization_id}/workspaces`;
  return (await owner.post(path, { region: 'us', name: 'Acme US' })).body.workspace_id;
}

it('posts a cause once, whoever posts it at once and wherever a poster crashes', async () => {
  let run = 0;
  const attempts = fc.array(fc.record({ cause: fc.nat(3), step: fc.oneof(fc.nat(3), fc.constant(NEVER)) }), {
    minLength: 1,
    maxLength: 10,
  });
  await fc.assert(
    fc.asyncProperty(attempts, async (tries) => {
      run += 1;
      const toCause = (cause: number) => `run${run}_${cause}`;
      const outcomes = await Promise.allSettled(
        tries.map(({ cause, step }) =>
          account.db.$transaction(async (tx) => {
            const id = toCause(cause);
            const transfers = [aCredit(id, `${id}:a`, 3n), aCredit(id, `${id}:b`, 4n)];
            await post(crashAt(tx, step), id, transfers);
            if (step === 3) throw new Error('crashed before the commit');
          }),
        ),
      );
      const isKept = (cause: number) =>
        tries.some((attempt, index) => attempt.cause === cause && outcomes[index]?.status === 'fulfilled');
      for (const { cause } of tries) {
        const posted = await account.db.query(sql`SELECT FROM transfer WHERE source = ${toCause(cause)}`);
        expect(posted.length).toBe(isKept(cause) ? 2 : 0);
      }
      expect((await readSums()).filter(({ difference }) => difference !== '0')).toEqual([]);
      // An attempt without a crash is never refused.
      expect(tries.every(({ step }, index) => step !== NEVER || outcomes[index]?.status === 'fulfilled')).toBe(true);
    }),
    { numRuns: RUNS },
  );
});

it('refuses an id that is posted with another amount, and a half of a cause', async () => {
  const postOne = (...transfers: Transfer[]) => account.db.$transaction((tx) => post(tx, 'cause', transfers));
  expect(await postOne(aCredit('ws_a', 'cause:1', 5n))).toBe('posted');
  expect(await postOne(aCredit('ws_a', 'cause:1', 5n))).toBe('repeated');
  await expect(postOne(aCredit('ws_a', 'cause:1', 6n))).rejects.toThrow('with other contents');
  await expect(postOne(aCredit('ws_b', 'cause:1', 5n))).rejects.toThrow('with other contents');
  await expect(postOne(aCredit('ws_a', 'cause:1', 5n), aCredit('ws_a', 'cause:2', 1n))).rejects.toThrow('with other');
  expect(await account.db.query(sql`SELECT FROM transfer WHERE source = 'cause'`)).toHaveLength(1);
});

it.each([
  ['an amount of nothing', { amount: 0n }],
  ['an amount below nothing', { amount: -1n }],
  ['a code that is not in the chart', { code: 'gift' }],
  ['an account that the code does not have', { debit: 'wallet:ws_other' }],
  ['a pair of accounts the wrong way round', { debit: walletOf('ws_x'), credit: 'promo_given' }],
  ['a unit that the code does not have', { unit: 'usd_cent' }],
])('refuses %s', async (_case, fields) => {
  const wrong = { ...aCredit('ws_x', `wrong:${JSON.stringify(Object.keys(fields))}`, 5n), ...fields } as Transfer;
  await expect(account.db.$transaction((tx) => post(tx, 'wrong', [wrong]))).rejects.toThrow(/check constraint/);
});

it('refuses an account of another unit', async () => {
  await expect(
    account.db.execute(sql`
      INSERT INTO transfer (transfer_id, unit, debit, credit, amount, code, source)
      VALUES ('mixed', 'nano_usd', 'promo_given', 'wallet:ws_nowhere', 1, 'welcome', 'mixed')`),
  ).rejects.toThrow(/foreign key/);
});

it.each([
  sql`UPDATE transfer SET amount = 1`,
  sql`DELETE FROM transfer`,
  sql`DELETE FROM ledger_account`,
  sql`DELETE FROM rate_month`,
])('lets the service change nothing that is posted: $text', async (statement) => {
  await expect(account.db.execute(statement)).rejects.toThrow(/permission denied/);
});

it('has a balance of credits less the spend that the region reported, and posts a day by its differences', async () => {
  const workspaceId = await aWorkspace();
  const report = (day: string, spend: bigint, seq: number) =>
    putDayTotals(account, 'us', {
      epoch,
      totals: [{ workspace_id: workspaceId, day, spend_nano_usd: spend, requests: 1, seq }],
    });
  const readPosted = () =>
    account.db.query(sql<{ id: string; code: string; amount: bigint }>`
      SELECT transfer_id AS id, code, amount FROM transfer
      WHERE source LIKE ${`day:${workspaceId}:%`} ORDER BY transfer_id`);
  await report('2026-10-05', 700n, 1);
  await report('2026-10-06', 20n, 2);
  const day = (hour: number) => new Date(Date.UTC(2026, 9, 6, hour));
  const now = new Date();
  const balance = { credited_nano_usd: '5000000000', spent_nano_usd: '720', balance_nano_usd: '4999999280' };
  expect(await readWallet(account.db, workspaceId)).toMatchObject(balance);

  // The 6th has not ended. Of runs at once, one posts.
  await account.db.execute(sql`UPDATE day_total SET reported_at = ${day(1)} WHERE workspace_id = ${workspaceId}`);
  const posted = await Promise.all([postUsage(account.db, day(23)), postUsage(account.db, day(23))]);
  expect(posted.toSorted()).toEqual([0, 1]);
  expect(await readPosted()).toEqual([{ id: `day:${workspaceId}:2026-10-05:0`, code: 'used', amount: 700n }]);
  expect(await readWallet(account.db, workspaceId)).toMatchObject(balance);

  await report('2026-10-05', 1_000n, 3);
  expect(await postUsage(account.db, now)).toBeGreaterThan(0);
  await report('2026-10-05', 400n, 4);
  await postUsage(account.db, now);
  expect(await postUsage(account.db, now)).toBe(0);
  expect(await readPosted()).toEqual([
    { id: `day:${workspaceId}:2026-10-05:0`, code: 'used', amount: 700n },
    { id: `day:${workspaceId}:2026-10-05:1`, code: 'used', amount: 300n },
    { id: `day:${workspaceId}:2026-10-05:2`, code: 'used_less', amount: 600n },
    expect.objectContaining({ code: 'used', amount: 20n }),
  ]);
  const [used] = await account.db.query(sql<{ balance: string }>`
    SELECT (credits - debits)::TEXT AS balance FROM ledger_balance WHERE account_id = ${`used:${workspaceId}`}`);
  expect(used?.balance).toBe('420');
  expect(await readWallet(account.db, workspaceId)).toMatchObject({
    spent_nano_usd: '420',
    balance_nano_usd: '4999999580',
  });
});

it('knows no wallet of a workspace that is not there', async () => {
  await expect(readWallet(account.db, 'ws_none')).rejects.toMatchObject({ fault: { kind: 'workspace_not_found' } });
});

it('books the credits that were given before there was a ledger', async () => {
  const postgres = await openPostgres();
  const databaseUrl = await postgres.createDatabase();
  const now = new URL('../sql/', import.meta.url);
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-sql-'));
  const before = (file: string) => Number(/\/(\d{4})_\w+\.sql$/.exec(file)?.[1] ?? 0) < 8;
  await cp(now, folder, { recursive: true, filter: before });
  await migrate({ databaseUrl, folder: pathToFileURL(`${folder}/`) });
  const db = new Database({
    ...{ service: 'test', databaseUrl, poolSize: 1, statementTimeoutMs: 30_000, waitTimeoutMs: 30_000 },
  });
  await db.execute(sql`
    INSERT INTO feed (region, seq, body) VALUES
      ('us', 1, '{"kind": "workspace", "workspace_id": "ws_1"}'),
      ('us', 2, '{"kind": "credit", "credit_id": "welcome_ws_1", "workspace_id": "ws_1", "nano_usd": "7", "note": ""}'),
      ('eu', 1, '{"kind": "credit", "credit_id": "welcome_ws_2", "workspace_id": "ws_2", "nano_usd": "9", "note": ""}')`);
  await migrate({ databaseUrl, folder: now });
  expect(await db.query(sql`SELECT transfer_id AS id, credit, amount FROM transfer ORDER BY transfer_id`)).toEqual([
    { id: 'welcome_ws_1', credit: 'wallet:ws_1', amount: 7n },
    { id: 'welcome_ws_2', credit: 'wallet:ws_2', amount: 9n },
  ]);
  await db.close();
  await postgres.stop();
  await rm(folder, { recursive: true });
});

it('posts a day that a region reports first while another one is posted', async () => {
  const [known, late] = [await aWorkspace(), await aWorkspace()];
  const report = (workspaceId: string) =>
    putDayTotals({ ...account, balanceWatch: { queueLooks: async () => {} } as never }, 'us', {
      epoch,
      totals: [{ workspace_id: workspaceId, day: '2026-10-01', spend_nano_usd: 7n, requests: 1, seq: 1 }],
    });
  await report(known);
  // Reports the other workspace after the first statement that writes.
  const db = Object.create(account.db, {
    transaction: {
      value: (work: Parameters<typeof account.db.transaction>[0]) =>
        account.db.transaction((tx) =>
          work({
            query: (statement) => tx.query(statement),
            async execute(statement) {
              const changed = await tx.execute(statement);
              await report(late);
              return changed;
            },
          }),
        ),
    },
  });
  const now = new Date();
  expect(await postUsage(db, now)).toBe(1);
  expect(await postUsage(account.db, now)).toBe(1);
});
