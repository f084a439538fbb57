import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import { lockOrganization } from '../organizations/workspaces.ts';
import { findCustomer } from './customers.ts';
import { switchOff } from './failedTopUps.ts';
import { throwPaymentsAway } from './paymentProcessor.ts';
import type { BillingDependencies } from './topUps.ts';

type Dependencies = Pick<BillingDependencies, 'db' | 'payments'>;

/** Most that are read of one organization. Each payment saves its card anew. */
const MOST_SAVED = 500;
/** Requests to the processor, which refuses many at once. */
const REMOVED_AT_ONCE = 10;

/** Lists the saved cards of an organization, each once, the last saved first. Throws `payments_away`. */
export async function listCards(dependencies: Dependencies, organizationId: string) {
  const methods = await listMethods(dependencies, organizationId);
  return methods
    .filter((method, index) => methods.findIndex((other) => isSameCard(other, method)) === index)
    .map(toBody);
}

/** Finds a saved card by any id under which a payment has saved it. Throws `payments_away`. */
export async function findCard(dependencies: Dependencies, organizationId: string, cardId: string) {
  const method = (await listMethods(dependencies, organizationId)).find(({ id }) => id === cardId);
  return method && toBody(method);
}

type Method = Awaited<ReturnType<typeof listMethods>>[number];

const toBody = ({ id, card }: Method) => ({
  ...{ card_id: id, brand: card.brand, last4: card.last4 },
  expires: `${card.exp_year}-${String(card.exp_month).padStart(2, '0')}`,
});

const isSameCard = (one: Method, other: Method): boolean =>
  one.id === other.id || (one.card.fingerprint != null && one.card.fingerprint === other.card.fingerprint);

async function listMethods({ db, payments }: Dependencies, organizationId: string) {
  const customer = await findCustomer(db, organizationId);
  if (!payments || customer === undefined) return [];
  const methods = await payments.stripe.customers
    .listPaymentMethods(customer, { type: 'card', limit: 100 })
    .autoPagingToArray({ limit: MOST_SAVED })
    .catch(throwPaymentsAway);
  return methods.flatMap(({ id, card }) => (card ? [{ id, card }] : []));
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
  const { brand, last4 } = wanted.card;
  const ids = methods.filter((method) => isSameCard(method, wanted)).map(({ id }) => id);
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
  for (let at = 0; at < ids.length; at += REMOVED_AT_ONCE)
    await Promise.all(
      ids
        .slice(at, at + REMOVED_AT_ONCE)
        .map((id) => payments.stripe.paymentMethods.detach(id).catch(throwPaymentsAway)),
    );
}
