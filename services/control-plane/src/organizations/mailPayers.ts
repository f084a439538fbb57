import { RIGHTS } from '@turnpike/console-api/roles';
import { sql } from '@turnpike/postgres/sql';
import type { Tx } from '../database/openDatabase.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { MailOf } from '../mail/templates.ts';

/** Mails about money go to so many members of an organization at most. */
const MOST_PAYERS = 50;

type WithoutAddress<Mail> = Mail extends unknown ? Omit<Mail, 'address'> : never;

/** Mails the members who may pay, in the transaction of the cause. */
export async function mailPayers(
  tx: Tx,
  outbox: Outbox,
  organizationId: string,
  mail: WithoutAddress<MailOf>,
): Promise<void> {
  const rows = await tx.$queryRaw<{ address: string }[]>(sql`
    SELECT address FROM member, LATERAL (
      SELECT address FROM user_email WHERE user_email.user_id = member.user_id ORDER BY verified_at LIMIT 1
    ) AS first
    WHERE organization_id = ${organizationId} AND role = ANY(${[...RIGHTS['billing.write']]}::TEXT[])
    ORDER BY joined_at LIMIT ${MOST_PAYERS}`);
  for (const { address } of rows) await outbox.post(tx, { ...mail, address } as MailOf);
}
