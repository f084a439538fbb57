import type { Logger } from '@turnpike/logging/createLogger';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { sql } from '@turnpike/postgres/sql';
import type { PgBoss } from 'pg-boss';
import type Stripe from 'stripe';
import type { Db } from '../database/openDatabase.ts';
import { NotOver, WOKEN, workEach } from '../jobs/workEach.ts';
import { copyDocument, type DocumentKind } from './documents.ts';
import type { Payments } from './paymentProcessor.ts';

/** Copies one document. */
const COPY = 'document_copy';
/** Copies what the events of the last days left out, once a night. */
const SWEEP = 'document_sweep';

const RETRIES = { retryLimit: 50, retryDelay: 5, retryBackoff: true, retryDelayMax: 3_600, expireInSeconds: 120 };
const SWEEP_CRON = '50 3 * * *';
/** Events may be up to 3 days late. */
const SWEPT_S = 4 * 86_400;

interface CopyJob {
  kind: DocumentKind;
  document_id: string;
}

/** The events after which a document does not change any more. */
const KIND_OF_EVENT: Record<string, DocumentKind> = {
  'invoice.paid': 'invoice',
  'invoice.voided': 'invoice',
  'credit_note.created': 'credit_note',
};

interface DocumentQueueOptions {
  db: Db;
  boss: PgBoss;
  /** Both are undefined where nothing can be paid in, and no job is worked off. */
  payments: Payments | undefined;
  documents: ObjectStore | undefined;
  log: Logger;
}

/** Jobs that copy documents. Each carries an id alone, and may run twice. */
export class DocumentQueue {
  readonly #options: DocumentQueueOptions;

  constructor(options: DocumentQueueOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { db, boss, log, payments, documents } = this.#options;
    await boss.createQueue(COPY, RETRIES);
    await boss.createQueue(SWEEP, { retryLimit: 5, retryDelay: 300, expireInSeconds: 3_600 });
    if (!payments || !documents) return;
    const failing = 'a document cannot be copied: it is tried again';
    await workEach<CopyJob>({ boss, log }, { queue: COPY, failing }, async ({ kind, document_id: documentId }) => {
      const isDone = await copyDocument({ db, payments, documents }, { kind, documentId });
      if (!isDone) throw new NotOver('the document may still change');
    });
    await boss.work(SWEEP, WOKEN, async () => {
      await this.sweep();
    });
    await boss.schedule(SWEEP, SWEEP_CRON);
  }

  /** Queues the copy of the document that an event is about. Other events change nothing. */
  async look({ type, data }: Stripe.Event): Promise<void> {
    const kind = KIND_OF_EVENT[type];
    const { id } = data.object as { id?: unknown };
    if (kind === undefined || typeof id !== 'string' || !/^\w{3,128}$/.test(id)) return;
    const job: CopyJob = { kind, document_id: id };
    await this.#options.boss.send(COPY, job);
  }

  /** Copies each document of the last days, and each of a top-up or a refund, that is not there yet. Returns how many failed. */
  async sweep(now = new Date()): Promise<number> {
    const { db, payments, documents, log } = this.#options;
    if (!payments || !documents) return 0;
    const { stripe } = payments;
    let failed = 0;
    const copy = (kind: DocumentKind, documentId: string): Promise<unknown> =>
      copyDocument({ db, payments, documents }, { kind, documentId }).catch((error: unknown) => {
        failed += 1;
        log.error({ err: error, documentId }, 'a document cannot be copied: the next sweep tries it again');
      });
    const created = { gte: Math.floor(now.getTime() / 1_000) - SWEPT_S };
    for await (const { id, status } of stripe.invoices.list({ created, limit: 100 }))
      if (status === 'paid' || status === 'void') await copy('invoice', id);
    for await (const { id } of stripe.creditNotes.list({ created, limit: 100 })) await copy('credit_note', id);
    const left = await db.query(sql<{ kind: DocumentKind; id: string }>`
      SELECT 'invoice' AS kind, invoice_id AS id FROM top_up WHERE state = 'invoiced'
        AND NOT EXISTS (SELECT 1 FROM document WHERE document_id = invoice_id)
      UNION ALL SELECT 'credit_note', credit_note_id FROM refund WHERE credit_note_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM document WHERE document_id = credit_note_id)`);
    for (const { kind, id } of left) await copy(kind, id);
    return failed;
  }
}
