import { sql } from '@turnpike/postgres/sql';
import type Stripe from 'stripe';
import type { Db } from '../database/openDatabase.ts';

/** Returns the organization's customer at the processor, and makes it once. Of callers at once, all use the stored one. */
export async function getCustomer({ db, stripe }: { db: Db; stripe: Stripe }, organizationId: string): Promise<string> {
  const known = await findCustomer(db, organizationId);
  if (known !== undefined) return known;
  const made = await stripe.customers.create(
    { metadata: { organization_id: organizationId } },
    { idempotencyKey: `${organizationId}:customer` },
  );
  await db.execute(sql`
    INSERT INTO billing_account (organization_id) VALUES (${organizationId}) ON CONFLICT DO NOTHING`);
  await db.execute(sql`
    UPDATE billing_account SET psp_customer = ${made.id} WHERE organization_id = ${organizationId} AND psp_customer IS NULL`);
  return (await findCustomer(db, organizationId)) ?? made.id;
}

export async function findCustomer(db: Db, organizationId: string): Promise<string | undefined> {
  const [row] = await db.query(sql<{ customer: string | null }>`
    SELECT psp_customer AS customer FROM billing_account WHERE organization_id = ${organizationId}`);
  return row?.customer ?? undefined;
}
