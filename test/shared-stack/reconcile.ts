import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { signingKeySchema } from '@turnpike/config/internalKeys';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { until } from '@turnpike/test-support/until';
import { Redis } from 'ioredis';
import pg from 'pg';
import { z } from 'zod';
import { AccountUser } from '../support/accountUser.ts';
import { runTurnpike, runTurnpikeHere } from '../support/runTurnpike.ts';
import { stack } from './stack.ts';

// Reports of "turnpike reconcile" and "turnpike dead-letters" on a running stack.

const MODEL = 'llama-3.3-70b-instruct';
/**
 * The rate of the load under which books are checked: enough for two cores beside other tests. By hand: `CALLS_PER_SECOND=200`.
 */
const CALLS_PER_SECOND = Number(process.env.CALLS_PER_SECOND ?? 40);
const MOST_AT_ONCE = 64;

/** The stack's name on the command line. */
const port = () => stack.running.stack.port_base;
let superuser: pg.Client;
let redis: Redis;
let account: { workspaceId: string; apiKey: string };
beforeAll(async () => {
  const { postgres_url: postgresUrl, redis_url: redisUrl } = stack.running.stack.regions.us;
  superuser = new pg.Client({ connectionString: Object.assign(new URL(postgresUrl), { pathname: '/ledger' }).href });
  await superuser.connect();
  redis = new Redis(redisUrl);
  account = await aWorkspaceWithCalls();
});
afterAll(async () => {
  await superuser?.end();
  redis?.disconnect();
});

interface Found {
  agree: boolean;
  account: { wallets: { agrees: boolean }[]; payments: { differences: object[] } | null } | null;
  workspaces: { workspace_id: string; checks: { check: string; verdict: string }[]; doubts: string[] }[];
}

async function reconcile(...args: string[]) {
  const { code, stdout, stderr } = await runTurnpikeHere(['reconcile', ...args, '--json'], stack);
  expect(stderr).toBe('');
  const found = JSON.parse(stdout) as Found;
  expect(code).toBe(found.agree ? 0 : 1);
  const differing = found.workspaces.flatMap(({ checks }) => checks.filter(({ verdict }) => verdict !== 'equal'));
  return { ...found, differing: differing.map(({ check }) => check) };
}

/** The same without doubts: on a machine that stands still, a router may not say in time what Redis counts. */
const reconcileSurely = (...args: string[]) =>
  until('books that nothing is in doubt of', async () => {
    const found = await reconcile(...args);
    return found.workspaces.every(({ doubts }) => doubts.length === 0) ? found : undefined;
  });

async function chat(apiKey: string, { isStream = false, tokens = 6 } = {}): Promise<number> {
  const response = await fetch(`${stack.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: MODEL,
      max_tokens: tokens,
      stream: isStream,
      messages: [{ role: 'user', content: `Hello [[sim: tokens=${tokens}]]` }],
    }),
  });
  await response.text();
  return response.status;
}

async function aWorkspaceWithCalls(): Promise<{ workspaceId: string; apiKey: string }> {
  const workspaceId = await stack.operator.makeWorkspace({ creditUsd: '10' });
  const apiKey = await stack.operator.makeKey(workspaceId);
  expect(await Promise.all([1, 2, 3].map(() => chat(apiKey)))).toEqual([200, 200, 200]);
  return { workspaceId, apiKey };
}

it('agrees to the nano-dollar while calls come, run and end', async () => {
  const accounts = [account, await aWorkspaceWithCalls()];
  let isOver = false;
  const load = Array.from({ length: 6 }, async (_, n) => {
    while (!isOver) await chat(accounts[n % 2]?.apiKey ?? '', { isStream: n % 3 === 0, tokens: 10 + n });
  });
  const found = [await reconcileSurely(), await reconcileSurely()];
  isOver = true;
  await Promise.all(load);

  for (const { agree, differing } of [...found, await reconcileSurely()]) {
    expect({ agree, differing }).toEqual({ agree: true, differing: [] });
  }
  const verified = await reconcileSurely('--seals');
  expect(verified).toMatchObject({ agree: true, differing: [] });
  expect(verified.workspaces[0]?.checks).toContainEqual(
    expect.objectContaining({ check: 'sealed hours whose rows differ' }),
  );
  const table = await runTurnpike(['reconcile', '--workspace', accounts[0]?.workspaceId ?? ''], stack);
  expect(table.stdout).toMatch(/workspace +check +left +right +difference/);
  expect(table.stdout).toContain('Workspaces: 1. All books agree.');
});

it.each<[string, (workspaceId: string) => Promise<() => Promise<unknown>>, string[]]>([
  [
    'a nano-dollar more in a key’s total',
    (id) => tamper('UPDATE key_total SET charge_nano_usd = charge_nano_usd + $2 WHERE workspace_id = $1', id),
    ['charges: rows = totals of keys', 'keys whose sums differ', 'keys and months whose spend in Redis differs'],
  ],
  [
    'a call more in a key’s total',
    (id) => tamper('UPDATE key_total SET requests = requests + $2 WHERE workspace_id = $1', id),
    ['keys whose sums differ'],
  ],
  [
    'a nano-dollar more in the workspace’s total',
    (id) => tamper('UPDATE workspace_total SET charge_nano_usd = charge_nano_usd + $2 WHERE workspace_id = $1', id),
    ['charges: rows = total of the workspace', 'left: Redis = ledger'],
  ],
  [
    'a call more in the hourly sums',
    (id) =>
      tamper(
        `UPDATE key_hour_total SET requests = requests + $2
         WHERE (key_id, hour) IN (SELECT key_id, hour FROM key_hour_total JOIN key_total USING (key_id) WHERE workspace_id = $1 LIMIT 1)`,
        id,
      ),
    ['hourly sums that differ', 'calls: rows = hourly sums'],
  ],
  [
    'a nano-dollar more left in Redis',
    async (id) => {
      await redis.hincrby(`{${id}}:wallet`, 'left', 1);
      return () => redis.hincrby(`{${id}}:wallet`, 'left', -1);
    },
    ['left: Redis = ledger'],
  ],
  [
    'a hold that belongs to no call',
    async (id) => {
      await redis.hincrby(`{${id}}:wallet`, 'held', 7);
      return () => redis.hincrby(`{${id}}:wallet`, 'held', -7);
    },
    ['held: Redis = its calls under way'],
  ],
])('finds %s, and says which books differ', async (_what, spoil, checks) => {
  const { workspaceId } = account;
  const undo = await spoil(workspaceId);
  const found = await reconcileSurely('--workspace', workspaceId).finally(undo);

  expect(found.agree).toBe(false);
  expect(found.differing.sort()).toEqual(checks.sort());
});

/** Adds 1 as the superuser; the result takes it away again. Triggers do not hold a superuser who turns them off. */
async function tamper(sql: string, workspaceId: string): Promise<() => Promise<unknown>> {
  await superuser.query(sql, [workspaceId, 1]);
  return () => superuser.query(sql, [workspaceId, -1]);
}

it('finds a row whose price is not that of its version', async () => {
  const { workspaceId } = account;
  const dearer = async (by: number) => {
    await superuser.query('BEGIN');
    await superuser.query('SET LOCAL session_replication_role = replica');
    await superuser.query('UPDATE usage_request SET formula_nano_usd = formula_nano_usd + $2 WHERE workspace_id = $1', [
      workspaceId,
      by,
    ]);
    await superuser.query('COMMIT');
  };
  await dearer(1);
  const found = await reconcileSurely('--workspace', workspaceId).finally(() => dearer(-1));

  expect(found.differing).toEqual(['rows with another price']);
  expect((await reconcileSurely('--workspace', workspaceId)).agree).toBe(true);
});

it('does not say that books agree which it cannot check', async () => {
  const { workspaceId } = account;
  const router = stack.running.parts.services['model-router'];
  process.kill(router.pid, 'SIGSTOP');
  const found = await reconcile('--workspace', workspaceId).finally(() => process.kill(router.pid, 'SIGCONT'));

  expect(found).toMatchObject({ agree: false, differing: [] });
  expect(found.workspaces[0]?.doubts).toEqual(['no router says what Redis counts']);
});

it('finds a wallet of the account layer that differs from its region', async () => {
  const workspace = await (await AccountUser.signIn(stack.running.stack)).makeWorkspace('us');
  const { apiKey } = await workspace.makeKey();
  await workspace.untilCredit(apiKey);
  const found = await reconcileSurely('--workspace', workspace.id);
  expect(found).toMatchObject({ agree: true, account: { wallets: [{ agrees: true }], payments: null } });

  const { postgres_url: url } = stack.running.stack.regions.us;
  const books = new pg.Client({ connectionString: Object.assign(new URL(url), { pathname: '/account' }).href });
  await books.connect();
  try {
    await books.query(
      `INSERT INTO transfer (transfer_id, unit, debit, credit, amount, code, source)
       VALUES ($1, 'nano_usd', 'promo_given', $2, 1, 'welcome', $1)`,
      [`tampered ${workspace.id}`, `wallet:${workspace.id}`],
    );
    const differing = await reconcile('--workspace', workspace.id, '--wait', '0');
    expect(differing).toMatchObject({ agree: false, differing: [], account: { wallets: [{ agrees: false }] } });
    const table = await runTurnpikeHere(['reconcile', '--workspace', workspace.id, '--wait', '0'], stack);
    expect(table.stdout).toMatch(/balance: account layer = region +10\.000000001 +10 +0\.000000001/);
    expect(table.stdout).toContain('Wallets of the account layer: 1, of which 1 differ.');
  } finally {
    await books.query('BEGIN');
    await books.query('SET LOCAL session_replication_role = replica');
    await books.query('DELETE FROM transfer WHERE source = $1', [`tampered ${workspace.id}`]);
    await books.query('COMMIT');
    await books.end();
  }
  expect((await reconcileSurely('--workspace', workspace.id)).agree).toBe(true);
});

it('does not say that the books of a workspace agree that does not exist', async () => {
  const missing = await runTurnpike(['reconcile', '--workspace', 'ws_nope'], stack);
  expect(missing).toEqual({
    code: 1,
    stdout: '',
    stderr: `There is no such workspace. "turnpike workspaces list" shows the ids. [stack ${port()}, region us]\n`,
  });

  const unused = await stack.operator.makeWorkspace();
  expect((await reconcileSurely('--workspace', unused)).agree).toBe(true);
});

describe('while calls come all the time', () => {
  let isOver = false;
  let calls = 0;
  let load: Promise<unknown>;
  let idle: { workspaceId: string; apiKey: string };
  beforeAll(async () => {
    idle = await aWorkspaceWithCalls();
    const busy = [account, await aWorkspaceWithCalls()];
    let nth = 0;
    const underWay = new Set<Promise<unknown>>();
    load = (async () => {
      while (!isOver) {
        const call = chat(busy[nth % 2]?.apiKey ?? '', { isStream: nth % 3 === 0, tokens: 4 })
          .then(() => (calls += 1))
          .finally(() => underWay.delete(call));
        underWay.add(call);
        nth += 1;
        // A machine that is too slow for the rate has no more than this to do at once.
        if (underWay.size >= MOST_AT_ONCE) await Promise.race(underWay);
        await delay(1_000 / CALLS_PER_SECOND);
      }
      await Promise.all(underWay);
    })();
  });
  afterAll(async () => {
    isOver = true;
    await load;
  });

  it('decides of every workspace that its books agree', async () => {
    const before = calls;
    for (let nth = 0; nth < 3; nth += 1) {
      const { agree, differing, account: ofAccount } = await reconcileSurely();
      expect({ agree, differing }).toEqual({ agree: true, differing: [] });
      expect(ofAccount?.payments?.differences).toEqual([]);
    }
    expect(calls).toBeGreaterThan(before);
  });

  it.each<[string, (busy: string) => Promise<() => Promise<unknown>>, string]>([
    ['a row that was removed', removeRow, 'calls: rows = hourly sums'],
    [
      'a sum that was changed',
      (id) => tamper('UPDATE workspace_total SET charge_nano_usd = charge_nano_usd + $2 WHERE workspace_id = $1', id),
      'charges: rows = total of the workspace',
    ],
  ])('finds %s, in all books and in those of its workspace', async (_what, spoil, check) => {
    const undo = await spoil(account.workspaceId);
    const found = [await reconcile(), await reconcile('--workspace', account.workspaceId)];
    await undo();
    for (const { agree, differing } of found) {
      expect(agree).toBe(false);
      expect(differing).toContain(check);
    }
    // Redis has taken over what was wrong, and shows it until it takes over the next sum.
    await until('books that agree again', async () => ((await reconcile()).agree ? true : undefined));
  });

  it('finds a wallet that is missing in Redis', async () => {
    const wallet = `{${idle.workspaceId}}:wallet`;
    const fields = await redis.hgetall(wallet);
    await redis.del(wallet);
    const found = await reconcileSurely().finally(() => redis.hset(wallet, fields));
    expect(found).toMatchObject({ agree: false, differing: ['sums in Redis without their wallet'] });
    expect((await reconcileSurely()).differing).toEqual([]);
  });
});

it('lists, shows, dismisses and replays dead letters', async () => {
  const event = aUsageRecorded();
  const value = toUsageRecordedJson(event);
  await appendToEventLog(event.keyId, `${value},`);
  const json = async (...args: string[]) => {
    const { code, stdout } = await runTurnpikeHere(['dead-letters', ...args, '--json'], stack);
    return { code, document: JSON.parse(stdout) };
  };
  const listed = async () => (await json('list')).document.dead_letters as { id: string; reason: string }[];
  const letter = await until('the dead letter', async () => (await listed())[0]);
  expect(letter.reason).toBe('not JSON');
  const shown = await json('show', letter.id);
  expect(Buffer.from(shown.document.payload_base64, 'base64').toString()).toBe(`${value},`);

  expect(await json('replay', '--all')).toMatchObject({
    code: 1,
    document: { replayed: 0, left: [{ id: letter.id }] },
  });
  const dismiss = (note: string) => json('dismiss', letter.id, '--note', note);
  expect(await dismiss('Nobody knows')).toMatchObject({ code: 0, document: { id: letter.id } });
  expect(await dismiss('Of a test')).toMatchObject({ code: 0 });
  expect(await listed()).toEqual([]);
  const dismissed = { id: letter.id, dismissed_at: expect.any(String), dismissal_note: 'Of a test', replayed_at: null };
  expect((await json('list', '--all')).document.dead_letters).toMatchObject([dismissed]);

  const folder = await mkdtemp(join(tmpdir(), 'turnpike-repaired-'));
  await writeFile(join(folder, 'event.json'), value);
  const repaired = await json('replay', letter.id, '--repaired', join(folder, 'event.json'));
  await rm(folder, { recursive: true });
  expect(repaired).toEqual({
    code: 0,
    document: { replayed: 1, left: [], written_to: { stack: String(port()), region: 'us' } },
  });

  expect(await listed()).toEqual([]);
  expect((await json('list', '--all')).document.dead_letters).toMatchObject([
    { id: letter.id, replayed_at: expect.any(String) },
  ]);
  const again = await runTurnpike(['dead-letters', 'replay', letter.id], stack);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('No dead letter of this id waits') });
  const { rows } = await superuser.query('SELECT status FROM usage_request WHERE call_id = $1', [event.callId]);
  expect(rows).toEqual([{ status: 'success' }]);
});

/** Removes a call's row; the result puts it back. */
async function removeRow(workspaceId: string): Promise<() => Promise<unknown>> {
  const inReplica = async (sql: string): Promise<void> => {
    await superuser.query(`BEGIN; SET LOCAL session_replication_role = replica; ${sql}; COMMIT`);
  };
  const { rows } = await superuser.query<{ columns: string; id: string }>(
    `SELECT string_agg(column_name, ', ') AS columns,
       (SELECT call_id FROM usage_request WHERE workspace_id = $1 LIMIT 1) AS id
     FROM information_schema.columns WHERE table_name = 'usage_request' AND is_generated = 'NEVER'`,
    [workspaceId],
  );
  const { columns, id } = rows[0] as { columns: string; id: string };
  await superuser.query(`CREATE TABLE removed_row AS SELECT ${columns} FROM usage_request WHERE call_id = '${id}'`);
  await inReplica(`DELETE FROM usage_request WHERE call_id = '${id}'`);
  return async () => {
    await inReplica(`INSERT INTO usage_request (${columns}) SELECT ${columns} FROM removed_row`);
    await superuser.query('DROP TABLE removed_row');
  };
}

async function appendToEventLog(key: string, value: string): Promise<void> {
  const secretsSchema = z.object({ internalKeys: z.object({ 'model-router': signingKeySchema }) });
  const { internalKeys } = secretsSchema.parse(
    JSON.parse(await readFile(join(stack.stateDir, 'secrets.json'), 'utf8')),
  );
  const issue = createTokenIssuer({ key: internalKeys['model-router'] });
  const signed = await issue('usage-ledger', 'POST /internal/event-log/:topic');
  const { internal_url: url } = stack.running.stack.regions.us.services['usage-ledger'];
  const response = await fetch(`${url}/internal/event-log/${usageRecorded.topic}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...signed },
    body: JSON.stringify({ records: [{ key, value }] }),
  });
  expect(response.status).toBe(200);
}
