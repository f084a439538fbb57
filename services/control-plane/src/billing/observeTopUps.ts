import { sql } from '@turnpike/postgres/sql';
import { createAskedGauge } from '@turnpike/telemetry/askedGauge';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import type { Db } from '../database/openDatabase.ts';
import { countDifferences } from './compareWithProcessor.ts';

/** Measures, at every scrape, what payments wait for. */
export function observeTopUps(meter: Meter, db: Pick<Db, 'query'>): void {
  const ask = async (statement: ReturnType<typeof sql<{ value: number }>>): Promise<number> => {
    const [row] = await db.query(statement);
    return row?.value ?? Number.NaN;
  };
  createAskedGauge(meter, {
    name: 'turnpike_top_up_uninvoiced_seconds',
    description: 'Time since the oldest payment that is credited and has no invoice.',
    ask: () =>
      ask(sql<{ value: number }>`
        SELECT coalesce(extract(epoch FROM now() - min(charged_at)), 0)::FLOAT AS value FROM top_up WHERE state = 'paid'`),
  });
  createAskedGauge(meter, {
    name: 'turnpike_refund_oldest_seconds',
    description:
      'Age of the oldest refund that is under way: its region took nothing yet, or the processor made no credit note.',
    ask: () =>
      ask(sql<{ value: number }>`
        SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::FLOAT AS value FROM refund WHERE ended_at IS NULL`),
  });
  createAskedGauge(meter, {
    name: 'turnpike_invoice_uncopied_seconds',
    description: 'Time since the oldest payment whose invoice has no copy in the object store.',
    ask: () =>
      ask(sql<{ value: number }>`
        SELECT coalesce(extract(epoch FROM now() - min(charged_at)), 0)::FLOAT AS value FROM top_up
        WHERE state = 'invoiced' AND NOT EXISTS (SELECT 1 FROM document WHERE document_id = invoice_id)`),
  });
  createAskedGauge(meter, {
    name: 'turnpike_disputes_unanswered',
    description: 'Disputes of payments that wait for our answer.',
    ask: () =>
      ask(sql<{ value: number }>`SELECT count(*)::FLOAT AS value FROM dispute WHERE status LIKE '%needs_response'`),
  });
  createAskedGauge(meter, {
    name: 'turnpike_payment_differences',
    description:
      'Charges, refunds and disputes whose movements at the payment processor differ from our books, by the last comparison.',
    ask: () => ask(countDifferences()),
  });
  createAskedGauge(meter, {
    name: 'turnpike_payments_compared_seconds',
    description:
      'Time since the movements at the payment processor were last compared with our books; 0 before the first time.',
    ask: () =>
      ask(sql<{ value: number }>`
        SELECT coalesce(extract(epoch FROM now() - compared_at), 0)::FLOAT AS value FROM psp_comparison`),
  });
  createAskedGauge(meter, {
    name: 'turnpike_automatic_top_up_oldest_seconds',
    description: 'Time since the oldest automatic top-up was started whose charge has no outcome.',
    ask: () =>
      ask(sql<{ value: number }>`
        SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::FLOAT AS value FROM top_up
        WHERE kind = 'automatic' AND state = 'created'`),
  });
  createAskedGauge(meter, {
    name: 'turnpike_automatic_top_ups_burst',
    description: 'Most automatic top-ups that one workspace started within the last 10 minutes.',
    ask: () =>
      ask(sql<{ value: number }>`
        SELECT coalesce(max(count), 0)::FLOAT AS value FROM (
          SELECT count(*) AS count FROM top_up
          WHERE kind = 'automatic' AND created_at > now() - interval '10 minutes' GROUP BY workspace_id
        ) AS started`),
  });
  createAskedGauge(meter, {
    name: 'turnpike_payment_event_oldest_seconds',
    description: 'Age of the oldest webhook about money that is not worked off.',
    ask: () =>
      ask(sql<{ value: number }>`
        SELECT coalesce(extract(epoch FROM now() - min(received_at)), 0)::FLOAT AS value FROM psp_event WHERE done_at IS NULL`),
  });
}
