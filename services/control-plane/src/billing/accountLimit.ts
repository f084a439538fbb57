import { sql } from '@turnpike/postgres/sql';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db } from '../database/openDatabase.ts';
import { lockOrganization } from '../organizations/workspaces.ts';
import { ACCOUNT_MONTH_LIMIT_CENTS } from './standing.ts';

/**
 * Sets the most that automatic top-ups of an organization may be in a month, without tax, in each currency. Null is the usual limit. The
 * change and its audit line are one transaction. Top-ups that are under way go on.
 */
export async function setAccountLimit(
  db: Db,
  { organizationId, monthLimitCents, by }: { organizationId: string; monthLimitCents: number | null; by: string },
  origin: Origin,
) {
  return db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const [account] = await tx.$queryRaw<{ limit: bigint | null }[]>(sql`
      SELECT automatic_month_limit_cents AS limit FROM billing_account WHERE organization_id = ${organizationId}`);
    await tx.$executeRaw(sql`
      INSERT INTO billing_account (organization_id, automatic_month_limit_cents) VALUES (${organizationId}, ${monthLimitCents})
      ON CONFLICT (organization_id) DO UPDATE SET automatic_month_limit_cents = excluded.automatic_month_limit_cents`);
    const was = Number(account?.limit ?? ACCOUNT_MONTH_LIMIT_CENTS);
    const limit = monthLimitCents ?? Number(ACCOUNT_MONTH_LIMIT_CENTS);
    await writeAudit(tx, origin, {
      ...{ organizationId, actor: by, action: 'automatic_top_up.limit_set', target: organizationId },
      before: { month_limit_cents: was },
      after: { month_limit_cents: limit },
    });
    return { organization_id: organizationId, month_limit_cents: limit, was_cents: was };
  });
}
