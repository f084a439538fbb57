import type pg from 'pg';
import type { ProcessorLog } from '../stack/paymentsSimulator.ts';
import type { FaultStack } from '../stack/startFaultStack.ts';

/** Nano-dollars of a dollar's cent. */
const NANO_PER_CENT = 10_000_000n;
/** Nano-dollars of a euro's cent, for each 1e-4 of the rate. */
const NANO_PER_CENT_AND_RATE = 1_000n;

/** The payments of a stack, by all of its books. */
export interface PaymentFindings {
  /** Payments of all cells so far. */
  payments: number;
  documents: number;
  /** Σ paid − Σ refunded − Σ lost in disputes without tax, at the processor. */
  paidNanoUsd: bigint;
  problems: string[];
}

interface TopUpRow {
  topUpId: string;
  workspaceId: string;
  state: string;
  chargeId: string | null;
  /** How often the region was given its credit. */
  credits: number;
}

/**
 * Holds the processor's own objects against the books of the account layer and those of the region. Each payment has one credit
 * and one invoice. Σ paid − Σ refunded − Σ lost is the credit of each workspace, of euros by the imported rate of the invoice's month.
 */
export async function comparePayments({
  payments,
  account,
  ledger,
}: Pick<FaultStack, 'payments' | 'account' | 'ledger'>): Promise<PaymentFindings> {
  const log = await payments.readLog();
  const topUps = await readTopUps(account, ledger);
  const problems: string[] = [];
  const check = (isRight: boolean, what: string): void => void (isRight || problems.push(what));

  const byId = new Map(topUps.map((topUp) => [topUp.topUpId, topUp]));
  const { byTopUp, invoices } = toCredit(log, topUps, await readRates(account));
  for (const topUp of topUps) {
    const isPaid = byTopUp.has(topUp.topUpId);
    check(
      isPaid === (topUp.state === 'invoiced'),
      `a top-up is ${topUp.state} and ${isPaid ? 'paid' : 'not paid'}: ${topUp.topUpId}`,
    );
    check(topUp.credits === (isPaid ? 1 : 0), `a top-up has ${topUp.credits} credits in the region: ${topUp.topUpId}`);
  }
  for (const id of byTopUp.keys()) check(byId.has(id), `the processor has a payment that no book has: ${id}`);
  check(
    log.charges.filter(({ status }) => status === 'succeeded').length === byTopUp.size,
    'the processor has a charge without a paid invoice',
  );

  const expected = new Map<string, bigint>();
  for (const [id, nanoUsd] of byTopUp) {
    const workspaceId = byId.get(id)?.workspaceId ?? '';
    expected.set(workspaceId, (expected.get(workspaceId) ?? 0n) + nanoUsd);
  }
  const workspaceIds = [...new Set(topUps.map(({ workspaceId }) => workspaceId))];
  const booked = await readBooked(account, workspaceIds);
  const given = await readGiven(ledger, workspaceIds);
  for (const id of workspaceIds) {
    const sums = [expected, booked, given].map((sums) => sums.get(id) ?? 0n);
    check(new Set(sums).size === 1, `paid, booked and given to a workspace are ${sums.join(', ')}: ${id}`);
  }

  const documents = await readDocuments(account);
  const issued = [...invoices, ...log.credit_notes.filter(({ status }) => status === 'issued')];
  for (const { id } of issued) check(documents.has(id), `a document has no copy: ${id}`);
  const numbers = log.invoices.flatMap(({ number }) => number ?? []).map((number) => Number(/\d+$/.exec(number)?.[0]));
  check(
    numbers.toSorted((a, b) => a - b).every((number, index) => number === index + 1),
    'the numbers of the invoices have a gap',
  );
  const paidNanoUsd = [...byTopUp.values()].reduce((sum, nanoUsd) => sum + nanoUsd, 0n);
  return { payments: byTopUp.size, documents: issued.length, paidNanoUsd, problems };
}

/** Returns the credit that each paid top-up is to have, by the processor and the rates of months alone. */
function toCredit(log: ProcessorLog, topUps: readonly TopUpRow[], rates: ReadonlyMap<string, bigint>) {
  const invoices = log.invoices.filter(({ status }) => status === 'paid');
  const topUpOf = new Map(invoices.map(({ id, metadata }) => [id, metadata?.top_up_id ?? id]));
  const unitOf = new Map(
    invoices.map(({ id, created, currency }) => {
      const month = new Date(created * 1_000).toISOString().slice(0, 7);
      const inEuros = (rates.get(month) ?? 0n) * NANO_PER_CENT_AND_RATE;
      return [topUpOf.get(id) ?? id, currency === 'eur' ? inEuros : NANO_PER_CENT];
    }),
  );
  const byTopUp = new Map([...unitOf.keys()].map((topUpId) => [topUpId, 0n]));
  const give = (topUpId: string, cents: number): void =>
    void byTopUp.set(topUpId, (byTopUp.get(topUpId) ?? 0n) + BigInt(cents) * (unitOf.get(topUpId) ?? 0n));
  for (const { id, subtotal } of invoices) give(topUpOf.get(id) ?? id, subtotal);
  for (const { status, invoice, subtotal } of log.credit_notes)
    if (status === 'issued') give(topUpOf.get(idOf(invoice)) ?? '', -subtotal);
  const byCharge = new Map(topUps.map(({ chargeId, topUpId }) => [chargeId, topUpId]));
  for (const { status, charge } of log.disputes) {
    // The cells dispute whole charges alone.
    const topUpId = byCharge.get(idOf(charge));
    const invoice = invoices.find(({ id }) => topUpOf.get(id) === topUpId);
    if (status !== 'won' && topUpId !== undefined && invoice) give(topUpId, -invoice.subtotal);
  }
  return { byTopUp, invoices };
}

const idOf = (reference: string | { id: string }): string => (typeof reference === 'string' ? reference : reference.id);

async function readTopUps(account: pg.Pool, ledger: pg.Pool): Promise<TopUpRow[]> {
  const { rows } = await account.query('SELECT top_up_id, workspace_id, state, charge_id FROM top_up');
  const { rows: credits } = await ledger.query(
    "SELECT credit_id, count(*)::INTEGER AS count FROM credit WHERE credit_id LIKE 'topup\\_%' GROUP BY 1",
  );
  const counts = new Map<string, number>(credits.map((row) => [row.credit_id, row.count]));
  return rows.map((row) => ({
    topUpId: row.top_up_id,
    workspaceId: row.workspace_id,
    state: row.state,
    chargeId: row.charge_id,
    credits: counts.get(row.top_up_id) ?? 0,
  }));
}

/** Reads the imported rate of each month, in units of 1e-4. */
async function readRates(account: pg.Pool): Promise<Map<string, bigint>> {
  const { rows } = await account.query('SELECT month, rate_e4 FROM rate_month');
  return new Map(rows.map((row) => [row.month, BigInt(row.rate_e4)]));
}

/** Reads the credit of wallets in the books of the account layer, spend left out. */
async function readBooked(account: pg.Pool, workspaceIds: readonly string[]): Promise<Map<string, bigint>> {
  const { rows } = await account.query(
    `SELECT id, (
       SELECT coalesce(sum(CASE WHEN credit = 'wallet:' || id THEN amount ELSE -amount END), 0) FROM transfer
       WHERE 'wallet:' || id IN (debit, credit) AND unit = 'nano_usd' AND code NOT IN ('used', 'used_less')
     )::TEXT AS sum FROM unnest($1::TEXT[]) AS id`,
    [workspaceIds],
  );
  return toSums(rows);
}

/** Reads the credit of workspaces in the region's ledger. */
async function readGiven(ledger: pg.Pool, workspaceIds: readonly string[]): Promise<Map<string, bigint>> {
  const { rows } = await ledger.query(
    'SELECT workspace_id AS id, sum(amount_nano_usd)::TEXT AS sum FROM credit WHERE workspace_id = ANY($1) GROUP BY 1',
    [workspaceIds],
  );
  return toSums(rows);
}

const toSums = (rows: { id: string; sum: string }[]): Map<string, bigint> =>
  new Map(rows.map(({ id, sum }) => [id, BigInt(sum)]));

async function readDocuments(account: pg.Pool): Promise<Set<string>> {
  const { rows } = await account.query('SELECT document_id FROM document');
  return new Set(rows.map((row) => row.document_id));
}
