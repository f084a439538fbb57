import { sql } from '@turnpike/postgres/sql';
import { createAskedGauge } from '@turnpike/telemetry/askedGauge';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import type { Db } from '../database/openDatabase.ts';

/** The name of the queue of mails. */
export const MAIL_QUEUE = 'mail';
/** `gave_up`: the last attempt of a mail failed. `address_refused`: the mail server refuses that address for good. */
const OUTCOMES = ['sent', 'failed', 'address_refused', 'gave_up'] as const;
type MailOutcome = (typeof OUTCOMES)[number];
/** More is counted as so many. */
const MOST = 1_000;

/** Returns the outcome of an attempt that failed. */
export function toMailOutcome(error: unknown, { isLast }: { isLast: boolean }): MailOutcome {
  const { command, responseCode } = { command: '', responseCode: 0, ...(error as object) };
  if (command === 'RCPT TO' && responseCode >= 500) return 'address_refused';
  return isLast ? 'gave_up' : 'failed';
}

/**
 * Measures the queue of mails, at every scrape. Returns the function that counts an attempt to send one. Mails whose address the server
 * refuses do not count as waiting, because a browser may ask for a mail to any address.
 */
export function observeMails(meter: Meter, db: Pick<Db, 'query'>): (outcome: MailOutcome) => void {
  const attempts = meter.createCounter('turnpike_mail_attempts_total', {
    description:
      'Attempts to send a mail, by what came of them: sent, failed, address_refused, or gave_up at the last one.',
  });
  for (const outcome of OUTCOMES) attempts.add(0, { outcome });
  const waiting = sql`
    SELECT created_on FROM pgboss.job
    WHERE name = ${MAIL_QUEUE} AND state < 'active' AND NOT blocked
      AND (output->>'command', left(output->>'responseCode', 1)) IS DISTINCT FROM ('RCPT TO', '5')
    ORDER BY created_on LIMIT ${MOST}`;
  const ask = async (what: ReturnType<typeof sql>): Promise<number> => {
    const [row] = await db.query(sql<{ value: number }>`SELECT ${what}::FLOAT AS value FROM (${waiting}) AS waiting`);
    return row?.value ?? Number.NaN;
  };
  createAskedGauge(meter, {
    name: 'turnpike_mails_waiting',
    description: 'Mails that wait to be sent, but those whose address the mail server refuses: 1000 are that or more.',
    ask: () => ask(sql`count(*)`),
  });
  createAskedGauge(meter, {
    name: 'turnpike_mail_oldest_seconds',
    description: 'Age of the oldest mail that waits to be sent, but those whose address the mail server refuses.',
    ask: () => ask(sql`coalesce(extract(epoch FROM now() - min(created_on)), 0)`),
  });
  return (outcome) => attempts.add(1, { outcome });
}
