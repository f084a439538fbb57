import type { Role } from '@turnpike/console-api/roles';
import { hasRight } from '@turnpike/console-api/roles';
import type { Logger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/openDatabase.ts';
import type { Outbox } from '../mail/outbox.ts';
import { toBillingPage } from './billingPage.ts';
import type { Payments } from './paymentProcessor.ts';
import { settleTopUp } from './settleTopUp.ts';

interface Member {
  organizationId: string;
  workspaceId: string;
  role: Role;
}

/**
 * Settles the top-up from whose Checkout page a member comes back. Returns the page to show: that of the workspace's payments, or the first page for
 * anyone else. A processor that is away is only logged, because jobs look again.
 */
export async function returnFromCheckout(
  { db, payments, outbox, log }: { db: Db; payments: Payments | undefined; outbox: Outbox; log: Logger },
  { topUpId, userId }: { topUpId: string; userId: string },
): Promise<string> {
  const [member] = await db.query(sql<Member>`
    SELECT organization_id AS "organizationId", workspace_id AS "workspaceId", role
    FROM top_up JOIN workspace USING (workspace_id) JOIN member USING (organization_id)
    WHERE top_up_id = ${topUpId} AND user_id = ${userId}`);
  if (!member || !hasRight(member.role, 'billing.read')) return '/';
  if (payments)
    await settleTopUp({ db, payments, outbox }, topUpId).catch((error: unknown) =>
      log.warn({ err: error, topUpId }, 'a top-up cannot be settled at the return from its page: jobs try it again'),
    );
  return toBillingPage({ ...member, topUpId });
}
