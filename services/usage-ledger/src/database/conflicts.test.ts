import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { aPartition, openTestLedger, TEST_CONNECTIONS, type TestLedger } from '../../test/openTestLedger.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
  // Lets some changes of a key's total fail; a sequence counts on when a transaction is rolled back.
  await ledger.ownerDb.$executeRaw`CREATE SEQUENCE change_number`;
});
afterAll(() => ledger.close());

/** Which changes fail, counted from 1. */
async function failAt(condition: (number: string) => string, sqlState: string): Promise<void> {
  await ledger.ownerDb.$executeRaw`ALTER SEQUENCE change_number RESTART`;
  await ledger.ownerDb.$executeRawUnsafe(`
    CREATE OR REPLACE FUNCTION fail_now_and_then() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF ${condition("nextval('change_number')")} THEN RAISE EXCEPTION 'on purpose' USING ERRCODE = '${sqlState}'; END IF;
      RETURN NEW;
    END $$`);
  await ledger.ownerDb.$executeRaw`
    CREATE OR REPLACE TRIGGER fail_now_and_then BEFORE INSERT ON key_total
      FOR EACH ROW EXECUTE FUNCTION fail_now_and_then()`;
}

it.each(['40001', '40P01'])('sums exactly though some transactions fail with %s', async (sqlState) => {
  // Five in all: were they all of one delivery, it would still not give up.
  await failAt((number) => `${number} IN (2, 9, 16, 23, 30)`, sqlState);
  const [keyId, workspaceId] = [`key_${randomUUID()}`, `ws_${randomUUID()}`];
  // Each writer has a connection of its own.
  const writers = Array.from({ length: TEST_CONNECTIONS }, async () => {
    for (let nth = 0; nth < 40 / TEST_CONNECTIONS; nth += 1)
      await aPartition(ledger.db).deliver([aUsageRecorded({ keyId, workspaceId })]);
  });
  await Promise.all(writers);

  const total = await ledger.db.keyTotal.findUniqueOrThrow({ where: { keyId } });
  expect(total.chargeNanoUsd.toFixed()).toBe(String(40 * 125_000));
  expect(await attempts()).toBe(45n);
});

it('gives up after five repetitions, with nothing recorded', async () => {
  await failAt((number) => `${number} > 0`, '40001');
  const event = aUsageRecorded();
  await expect(aPartition(ledger.db).deliver([event])).rejects.toThrow('on purpose');

  expect(await attempts()).toBe(6n);
  expect(await ledger.db.usageRequest.count({ where: { callId: event.callId } })).toBe(0);
});

async function attempts(): Promise<bigint> {
  const [row] = await ledger.ownerDb.$queryRaw<{ last_value: bigint }[]>`SELECT last_value FROM change_number`;
  return row?.last_value ?? 0n;
}
