import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { listenAnywhere } from '../../../test/listenAnywhere.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { type BalanceLoader, createBalanceLoader } from './loadBalances.ts';

/** What the ledger says of every workspace; a test changes it. */
let answer: { status: number; body: Record<string, unknown> };
let asked: { url: string; question: unknown }[] = [];
/** What an answer that is made waits for before it is sent. */
let delivery = Promise.resolve();
let opened: OpenedRedis;
let ledger: Server;
let balances: BalanceLoader;
/** The month of a day ago, as a clock may be set back. */
const firstMonth = (): string => new Date(Date.now() - 86_400_000).toISOString().slice(0, 7);
const aWorkspaceId = (): string => `ws_${randomUUID()}`;

const theLedgerSays = (fields: Record<string, unknown> = {}): void => {
  const body = {
    credit_seq: 1,
    credited_nano_usd: '1000',
    spent_nano_usd: '300',
    months: { [firstMonth()]: '200' },
    requests: 4,
    recorded: [],
  };
  answer = { status: 200, body: { ...body, keys: { key_a: '250', key_b: '50' }, ...fields } };
};

beforeAll(async () => {
  opened = await openTestRedis();
  ledger = createServer(async (req, res) => {
    asked.push({ url: req.url ?? '', question: await json(req) });
    const { status, body } = answer;
    await delivery;
    res.writeHead(status).end(JSON.stringify(body));
  });
  const ledgerUrl = await listenAnywhere(ledger);
  const { redis, epoch } = opened;
  // Long: the ledger here answers, though a busy machine may take its time.
  balances = createBalanceLoader({ redis, ledgerUrl, internalHeaders: () => ({}), epoch, timeoutMs: 20_000 });
});
afterEach(() => {
  asked = [];
});
afterAll(async () => {
  ledger.close();
  await opened.close();
});

it('brings credit, spend of workspace, month and keys into an empty Redis, and the workspace to the sweeper’s list', async () => {
  const workspaceId = aWorkspaceId();
  // It may turn while the ledger is asked.
  const earliest = firstMonth();
  theLedgerSays();
  await balances.load(workspaceId);
  const month = Object.keys(answer.body.months ?? {})[0] ?? '';
  const url = `/internal/workspaces/${workspaceId}/balances`;
  expect(asked).toEqual([{ url, question: { month: expect.any(String), epoch: 1, calls: [] } }]);
  const [{ question } = { question: {} }] = asked;
  const { month: askedMonth } = question as { month?: string };
  expect([earliest, firstMonth()]).toContain(askedMonth);
  expect(await opened.walletOf(workspaceId)).toEqual({ credited: 1_000n, spent: 300n, held: 0n });
  expect(await opened.keyOf(workspaceId, 'key_a')).toEqual({ spent: 250n, held: 0n });
  expect(await opened.keyOf(workspaceId, 'key_b')).toEqual({ spent: 50n, held: 0n });
  expect(await opened.monthsOf(workspaceId)).toEqual({ [`${month}:spent`]: 200n, [`${month}:held`]: 0n });
  expect(await opened.redis.sismember(redisKeys.workspaces, workspaceId)).toBe(1);
});

it.each([
  ['newer', 2, 5_000n],
  ['the same', 1, 1_000n],
  ['older', 0, 1_000n],
])(
  'takes credit from the ledger beside running counters only when it is newer: %s',
  async (_case, creditSeq, credited) => {
    const workspaceId = aWorkspaceId();
    theLedgerSays();
    await balances.load(workspaceId);
    await opened.redis.hset(redisKeys.wallet(workspaceId), { spent: 777, held: 55 });
    theLedgerSays({ credit_seq: creditSeq, credited_nano_usd: '5000', spent_nano_usd: '1', keys: { key_a: '1' } });
    await balances.load(workspaceId);
    expect(await opened.walletOf(workspaceId)).toEqual({ credited, spent: 777n, held: 55n });
    expect(await opened.keyOf(workspaceId, 'key_a')).toEqual({ spent: 250n, held: 0n });
  },
);

it('leaves a key’s generation as it is', async () => {
  const workspaceId = aWorkspaceId();
  await opened.redis.hset(redisKeys.key(workspaceId, 'key_a'), 'generation', 9);
  theLedgerSays();
  await balances.load(workspaceId);
  expect(await opened.redis.hget(redisKeys.key(workspaceId, 'key_a'), 'generation')).toBe('9');
});

it('asks once for a workspace, however many calls wait, and again at most every half second', async () => {
  const workspaceId = aWorkspaceId();
  theLedgerSays();
  await Promise.all(Array.from({ length: 50 }, () => balances.load(workspaceId)));
  expect(await balances.refresh(workspaceId)).toBe(false);
  expect(asked).toHaveLength(1);
});

it('asks anew to reload, since one that is under way may have been answered before', async () => {
  const workspaceId = aWorkspaceId();
  theLedgerSays();
  let deliver = (): void => {};
  delivery = new Promise((resolve) => {
    deliver = resolve;
  });
  const earlier = balances.load(workspaceId);
  await until('the ledger has made its answer', () => asked.length === 1);
  theLedgerSays({ credit_seq: 2, credited_nano_usd: '-70' });
  const reloads = [balances.reload(workspaceId), balances.reload(workspaceId)];
  deliver();
  await Promise.all([earlier, ...reloads]);

  expect(await opened.walletOf(workspaceId)).toEqual({ credited: -70n, spent: 300n, held: 0n });
  expect(asked).toHaveLength(2);
});

it.each<[string, () => void]>([
  [
    'fails',
    () => {
      answer = { status: 500, body: {} };
    },
  ],
  ['answers nonsense', () => theLedgerSays({ credited_nano_usd: 12.5 })],
])('rejects and brings nothing when the ledger %s', async (_case, prepare) => {
  const workspaceId = aWorkspaceId();
  prepare();
  await expect(balances.load(workspaceId)).rejects.toThrow();
  expect(await opened.redis.exists(redisKeys.wallet(workspaceId))).toBe(0);
});
