import { sql } from '@turnpike/postgres/sql';
import type { Tx } from '../database/openDatabase.ts';

type Unit = 'usd_cent' | 'eur_cent' | 'nano_usd';

/** A move of `amount` units to the debited account from the credited one. The chart of accounts stands in the check of the table. */
export interface Transfer {
  /** The cause and the step: `topup_…:vat`. Posted again under its id, a transfer changes nothing. */
  id: string;
  unit: Unit;
  debit: string;
  credit: string;
  amount: bigint;
  code:
    | 'welcome'
    | 'net'
    | 'net_back'
    | 'vat'
    | 'vat_back'
    | 'credit'
    | 'taken_back'
    | 'given_back'
    | 'loss'
    | 'loss_back'
    | 'fee'
    | 'fee_back'
    | 'payout'
    | 'payout_back'
    | 'adjusted'
    | 'adjusted_back';
}

export const walletOf = (workspaceId: string): string => `wallet:${workspaceId}`;

/**
 * Posts the transfers of one cause in the transaction of the cause. Returns `repeated` and changes nothing if all of them are there.
 * Throws if only some are, or if one is there with other contents.
 */
export async function post(tx: Tx, source: string, transfers: readonly Transfer[]): Promise<'posted' | 'repeated'> {
  const rows = JSON.stringify(transfers.map((transfer) => ({ ...transfer, amount: String(transfer.amount) })));
  const given = sql`
    json_to_recordset(${rows}::JSON) AS given (id TEXT, unit TEXT, debit TEXT, credit TEXT, amount BIGINT, code TEXT)`;
  // Sorted, so that two transactions wait for new accounts in one order.
  await tx.$executeRaw(sql`
    INSERT INTO ledger_account (account_id, unit)
    SELECT DISTINCT account_id, unit FROM ${given}, LATERAL (VALUES (debit), (credit)) AS side (account_id)
    ORDER BY account_id, unit
    ON CONFLICT DO NOTHING`);
  const posted = await tx.$executeRaw(sql`
    INSERT INTO transfer (transfer_id, unit, debit, credit, amount, code, source)
    SELECT id, unit, debit, credit, amount, code, ${source} FROM ${given} ORDER BY id
    ON CONFLICT (transfer_id) DO NOTHING`);
  if (posted === transfers.length) return 'posted';
  const [same] = await tx.$queryRaw<{ count: number }[]>(sql`
    SELECT count(*)::INTEGER AS count FROM ${given}
    JOIN transfer USING (unit, debit, credit, amount, code) WHERE transfer_id = id AND source = ${source}`);
  if (posted > 0 || same?.count !== transfers.length)
    throw new Error(`transfers of ${source} are posted already, with other contents`);
  return 'repeated';
}
