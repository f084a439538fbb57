import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { generateSigningKey, publicKeysSchema, signingKeySchema, toPublicKey } from '@turnpike/config/internalKeys';
import { PAGE_ENTRIES, signPage } from '@turnpike/feed/feedPage';
import { applyAll } from '@turnpike/feed/followFeed';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import { until } from '@turnpike/test-support/until';
import fc from 'fast-check';
import { openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { getBalances } from '../balances/getBalances.ts';
import { addCredit } from './addCredit.ts';
import { applyCredit } from './followCredits.ts';

const KEY = generateSigningKey('global/control-plane');
const key = signingKeySchema.parse(KEY);
const keys = publicKeysSchema.parse(toPublicKey(KEY));

let ledger: TestLedger;
let run = 0;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());
beforeEach(begin);

/** Credits are never removed, so each run has its own. */
async function begin(): Promise<void> {
  run += 1;
  await setBack({ epoch: null, seq: 0 });
}

const readCursor = async () =>
  (await ledger.db.query(sql<{ epoch: string | null; seq: number }>`SELECT epoch, seq FROM feed_cursor`))[0];

/** Sets the cursor back, as a restored database has it. */
const setBack = ({ epoch, seq }: { epoch: string | null; seq: number }) =>
  ledger.db.execute(sql`UPDATE feed_cursor SET epoch = ${epoch}, seq = ${seq}, chain = NULL`);

const aCredit = (nth: number, nanoUsd = nth) => ({
  kind: 'credit' as const,
  credit_id: `credit_${run}_${nth}`,
  workspace_id: `ws_${run}`,
  nano_usd: String(nanoUsd),
  note: '',
});

const follow = (credits: ReturnType<typeof aCredit>[], epoch = 'e1') =>
  applyAll(
    {
      keys,
      region: 'us',
      db: ledger.db,
      async applyEntry(tx, entry) {
        if (entry.kind !== 'credit') return;
        const { credit_id: creditId, workspace_id: workspaceId, nano_usd: amountNanoUsd, note } = entry;
        await applyCredit(tx, { creditId, workspaceId, amountNanoUsd, note });
      },
    },
    (after) => {
      const entries = credits.map((credit, index) => ({ ...credit, seq: index + 1 }));
      const hashOf = (end: number): string =>
        createHash('sha256')
          .update(JSON.stringify(credits.slice(0, end)))
          .digest('hex');
      const chain = { before: hashOf(after), end: hashOf(Math.min(after + PAGE_ENTRIES, entries.length)) };
      const page = { region: 'us' as const, epoch, after, last: entries.length, chain };
      return signPage({ ...page, entries: entries.slice(after, after + PAGE_ENTRIES) }, key);
    },
  );

const readCredited = async () =>
  (await getBalances(ledger.db, { workspaceId: `ws_${run}`, month: '2026-11' })).creditedNanoUsd;

it('adds a credit once, also beside the operator', async () => {
  const { credit_id: creditId, workspace_id: workspaceId } = aCredit(5);
  await addCredit(ledger.db, { creditId, workspaceId, amountNanoUsd: 5n, note: '' });
  await follow([aCredit(5), aCredit(6), aCredit(5)]);
  expect(await readCredited()).toBe(11n);
});

it('refuses a known credit with another amount, and all of its page', async () => {
  await expect(follow([aCredit(1), aCredit(2), aCredit(1, 7)])).rejects.toThrow('another workspace or amount');
  expect(await readCredited()).toBe(0n);
  expect(await readCursor()).toEqual({ epoch: null, seq: 0 });
});

it('takes workspaces in the order in which calls are recorded, whatever the order of the feed', async () => {
  const [first, second] = [`ws_${run}_1`, `ws_${run}_2`];
  const give = (tx: Queryable, workspaceId: string) =>
    applyCredit(tx, { creditId: `own_${workspaceId}`, workspaceId, amountNanoUsd: 1n, note: '' });
  // Rows that exist are locked alone.
  for (const workspaceId of [first, second])
    await addCredit(ledger.db, { creditId: `old_${workspaceId}`, workspaceId, amountNanoUsd: 1n, note: '' });
  const following = await ledger.db.transaction(async (tx) => {
    await tx.query(sql`SELECT set_config('idle_in_transaction_session_timeout', '0', true)`);
    await give(tx, first);
    // In a list, so that the transaction does not wait for the page.
    const applied = [follow([second, first].map((id, nth) => ({ ...aCredit(nth + 1), workspace_id: id })))];
    await until('a page that waits for the first workspace', async () => {
      const waiting = await ledger.db.query(sql`
        SELECT 1 AS one FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      return waiting.length > 0;
    });
    // Fails soon where the page has the second workspace already.
    await tx.query(sql`SELECT set_config('lock_timeout', '500', true)`);
    await give(tx, second);
    return applied;
  });
  await Promise.all(following);
  expect((await readCursor())?.seq).toBe(2);
});

it('passes over a credit of nothing, and adds those behind it', async () => {
  await follow([aCredit(1, 0), aCredit(2)]);
  expect(await readCredited()).toBe(2n);
});

it('comes to one sum by whatever way: replayed, shuffled, cut, and either side restored', async () => {
  const numbers = [1, 2, 3, 4, 5, 6, 7, 8];
  const way = fc.record({
    order: fc.shuffledSubarray(numbers, { minLength: numbers.length, maxLength: numbers.length }),
    again: fc.shuffledSubarray(numbers),
    cuts: fc.array(fc.nat(numbers.length), { maxLength: 4 }),
    goneBack: fc.nat(numbers.length),
    planeIsRestored: fc.boolean(),
    keepsItsEpoch: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(way, async ({ order, again, cuts, goneBack, planeIsRestored, keepsItsEpoch }) => {
      await begin();
      const feed = [...order, ...again].map((nth) => aCredit(nth));
      for (const cut of cuts) await follow(feed.slice(0, Math.max(cut, (await readCursor())?.seq ?? 0)));
      await follow(feed);
      await setBack({ epoch: 'e1', seq: goneBack });
      await follow(feed);
      if (planeIsRestored) {
        await follow(feed.slice(0, 3), 'e2');
        await follow([...feed.slice(0, 3), ...feed.slice(5)], 'e2');
      }
      let credited = 36n;
      if (planeIsRestored && keepsItsEpoch) {
        // The restored feed has grown past the cursor. Its new entries are other credits.
        const last = (await readCursor())?.seq ?? 0;
        const rest = Array.from({ length: last }, (_, nth) => aCredit(100 + nth, 1));
        await follow([...feed.slice(0, 2), ...rest], 'e2');
        credited += BigInt(last);
      }
      expect(await readCredited()).toBe(credited);
    }),
    { numRuns: 100, seed: 20_261_128 },
  );
});
