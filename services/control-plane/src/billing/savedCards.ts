import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import { lockOrganization } from '../organizations/workspaces.ts';
import { findCustomer } from './customers.ts';
import { switchOff } from './failedTopUps.ts';
import { throwPaymentsAway } from './paymentProcessor.ts';
import type { BillingDependencies } from './topUps.ts';

type Dependencies = Pick<BillingDependencies, 'db' | 'payments'>;

/** Cards of one organization that are shown. */
const MOST_CARDS = 20;

/** Lists the saved cards of an organization. Throws `payments_away`. */
export async function listCards(dependencies: Dependencies, organizationId: string) {
  const methods = await listMethods(dependencies, organizationId);
  return methods.map(({ id, card }) => ({
    ...{ card_id: id, brand: card.brand, last4: card.last4 },
    expires: `${card.exp_year}-${String(card.exp_month).padStart(2, '0')}`,
  }));
}

async function listMethods({ db, payments }: Dependencies, organizationId: string) {
  const customer = await findCustomer(db, organizationId);
  if (!payments || customer === undefined) return [];
  const { data } = await payments.stripe.customers
    .listPaymentMethods(customer, { type: 'card', limit: MOST_CARDS })
    .catch(throwPaymentsAway);
  return data.flatMap(({ id, card }) => (card ? [{ id, card }] : []));
}

/**
 * Removes a saved card at the payment processor for good, as often as payments have saved it. First switches off the automatic top-ups
 * that charge it, so that no charge begins any more. Throws `unknown_card`, and `payments_away`: a repeated call then removes the rest.
 */
export async function removeCard(
  { db, payments }: Dependencies,
  { organizationId, cardId, userId }: { organizationId: string; cardId: string; userId: string },
  origin: Origin,
): Promise<void> {
  const methods = await listMethods({ db, payments }, organizationId);
  const wanted = methods.find(({ id }) => id === cardId);
  if (!payments || !wanted) throw new ApiError({ kind: 'unknown_card' });
  const { brand, last4, fingerprint } = wanted.card;
  const isSame = (card: { fingerprint?: string | null }) => fingerprint !== null && card.fingerprint === fingerprint;
  const ids = methods.filter(({ id, card }) => id === cardId || isSame(card)).map(({ id }) => id);
  await db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const charging = await tx.$queryRaw<{ workspaceId: string }[]>(sql`
      SELECT rule.workspace_id AS "workspaceId" FROM top_up_rule AS rule
      JOIN top_up_mandate AS mandate ON mandate.mandate_id = rule.mandate_id
      JOIN workspace ON workspace.workspace_id = rule.workspace_id
      WHERE organization_id = ${organizationId} AND card_id = ANY (${ids}) ORDER BY 1`);
    const by = { organizationId, actor: userId };
    for (const { workspaceId } of charging) await switchOff(tx, { ...by, workspaceId, offReason: 'card_gone' }, origin);
    await writeAudit(tx, origin, { ...by, action: 'card.removed', target: cardId, before: { brand, last4 } });
  });
  for (const id of ids) await payments.stripe.paymentMethods.detach(id).catch(throwPaymentsAway);
}
