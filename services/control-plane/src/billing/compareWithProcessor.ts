import { sql } from '@turnpike/postgres/sql';
import type Stripe from 'stripe';
import type { Db, Tx } from '../database/openDatabase.ts';
import { post, type Transfer } from '../ledger/post.ts';
import type { Payments } from './paymentProcessor.ts';

/** Movements are read again that are so old, because the processor may list one late. */
const LOOK_BACK_S = 3 * 86_400;
/** A younger movement may be on its way to our books. */
const GRACE_SECONDS = 3_600;
/** Movements of one answer of the processor. */
const PAGE = 100;
/** Movements of one transaction. A transaction has five seconds, and a movement up to five statements. */
const KEPT_AT_ONCE = 20;
const MOST_DIFFERENCES = 500;

/** These have no cause in our books, but are booked from the movement. */
const FEES = new Set(['stripe_fee', 'stripe_fx_fee', 'tax_fee']);
const PAYOUTS = new Set(['payout', 'payout_failure', 'payout_cancel']);
const CURRENCIES = new Set(['usd', 'eur']);

export interface Difference {
  /** The object of the processor: a charge, a refund, a dispute. */
  source: string | null;
  currency: string;
  /** Null: the processor has no such movement. */
  theirs_cents: number | null;
  /** Null: our books have no such movement. */
  ours_cents: number | null;
  /** The top-up or the refund in our books. */
  cause: string | null;
  at: string;
}

/**
 * Reads the movements of our balance at the processor since the last comparison that came to its end, or all of them the first time. Books
 * fees and payouts once. Returns the objects whose movements differ from our books, in either direction.
 */
export async function compareWithProcessor(
  { db, payments }: { db: Db; payments: Payments },
  { graceSeconds = GRACE_SECONDS }: { graceSeconds?: number | undefined } = {},
) {
  const [last] = await db.query(sql<{ second: number | null }>`
    SELECT floor(extract(epoch FROM compared_at))::FLOAT AS second FROM psp_comparison`);
  // The processor lists the newest first, so a comparison that ended half way has kept none of the older ones.
  const since = last && last.second !== null ? { created: { gte: last.second - LOOK_BACK_S } } : {};
  let read: Stripe.BalanceTransaction[] = [];
  const keepRead = async () => {
    const movements = read;
    read = [];
    await db.$transaction(async (tx) => {
      for (const movement of movements) await keep(tx, movement);
    });
  };
  for await (const movement of payments.stripe.balanceTransactions.list({ ...since, limit: PAGE })) {
    read.push(movement);
    if (read.length === KEPT_AT_ONCE) await keepRead();
  }
  await keepRead();
  await db.execute(sql`UPDATE psp_comparison SET compared_at = now()`);
  return { differences: await listDifferences(db, graceSeconds), balances: await readBalances(db) };
}

/** Keeps a movement once, and books what has no other cause. */
async function keep(tx: Tx, movement: Stripe.BalanceTransaction): Promise<void> {
  const { id, type, currency, amount, fee, created } = movement;
  const source = typeof movement.source === 'string' ? movement.source : (movement.source?.id ?? null);
  const isBookedHere = FEES.has(type) || PAYOUTS.has(type);
  const kept = await tx.$executeRaw(sql`
    INSERT INTO psp_movement (movement_id, type, currency, amount, fee, source, is_booked_here, moved_at)
    VALUES (${id}, ${type}, ${currency}, ${amount}, ${fee}, ${source}, ${isBookedHere}, ${new Date(created * 1_000)})
    ON CONFLICT DO NOTHING`);
  const transfers = kept === 1 && CURRENCIES.has(currency) ? listTransfers(movement) : [];
  if (transfers.length > 0) await post(tx, id, transfers);
}

function listTransfers({ id, type, currency, amount, fee }: Stripe.BalanceTransaction): Transfer[] {
  const fees = BigInt(fee) - (FEES.has(type) ? BigInt(amount) : 0n);
  const paidOut = PAYOUTS.has(type) ? -BigInt(amount) : 0n;
  const toTransfer = (code: 'fee' | 'payout', account: string, cents: bigint): Transfer => {
    const unit = `${currency as 'usd' | 'eur'}_cent` as const;
    const [debit, credit] = cents > 0n ? [account, 'psp_clearing'] : ['psp_clearing', account];
    const isOut = cents > 0n;
    return {
      id: `${id}:${code}`,
      unit,
      debit,
      credit,
      amount: isOut ? cents : -cents,
      code: isOut ? code : `${code}_back`,
    };
  };
  return [toTransfer('fee', 'psp_fees', fees), toTransfer('payout', 'bank', paidOut)].filter(
    ({ amount: cents }) => cents > 0n,
  );
}

/** The differences that are older than the grace, the oldest first. */
const selectDifferences = (graceSeconds: number) => sql`
  WITH theirs AS (
      SELECT source, currency, sum(amount) AS amount, max(moved_at) AS moved_at FROM psp_movement
      WHERE NOT is_booked_here GROUP BY source, currency
    ), ours AS (
      SELECT source, currency, sum(amount) AS amount, max(moved_at) AS moved_at, min(cause) AS cause FROM psp_expected GROUP BY source, currency
    )
  SELECT source, currency, theirs.amount::FLOAT AS theirs, ours.amount::FLOAT AS ours, cause,
    coalesce(theirs.moved_at, ours.moved_at) AS at
  FROM theirs FULL JOIN ours USING (source, currency) CROSS JOIN psp_comparison
  WHERE theirs.amount IS DISTINCT FROM ours.amount
    AND greatest(theirs.moved_at, ours.moved_at) <= compared_at - make_interval(secs => ${graceSeconds}::FLOAT)`;

/** Returns the differences by the last comparison, 500 at most, the oldest first. */
async function listDifferences(db: Db, graceSeconds: number): Promise<Difference[]> {
  const rows = await db.query(
    sql<{
      source: string | null;
      currency: string;
      theirs: number | null;
      ours: number | null;
      cause: string | null;
      at: Date;
    }>`${selectDifferences(graceSeconds)} ORDER BY at, source LIMIT ${MOST_DIFFERENCES}`,
  );
  return rows.map(({ theirs, ours, at, ...row }) => ({
    ...row,
    theirs_cents: theirs,
    ours_cents: ours,
    at: at.toISOString(),
  }));
}

/** Counts the differences by the last comparison. */
export const countDifferences = () => sql<{ value: number }>`
  SELECT count(*)::FLOAT AS value FROM (${selectDifferences(GRACE_SECONDS)}) AS differences`;

/** Our balance at the processor, by its movements and by our books. */
const readBalances = (db: Db) =>
  db.query(sql<{ currency: string; theirs_cents: number; ours_cents: number }>`
    SELECT currency, sum(theirs)::FLOAT AS theirs_cents, sum(ours)::FLOAT AS ours_cents
    FROM (
      SELECT currency, amount - fee AS theirs, 0 AS ours FROM psp_movement
      UNION ALL
      SELECT left(unit, 3), 0, debits - credits FROM ledger_balance WHERE account_id = 'psp_clearing'
    ) AS sums
    GROUP BY currency ORDER BY currency`);
