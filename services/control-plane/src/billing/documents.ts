import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type Stripe from 'stripe';
import type { Db } from '../database/openDatabase.ts';
import type { Currency } from './currencies.ts';
import type { Payments } from './paymentProcessor.ts';

export type DocumentKind = 'invoice' | 'credit_note';
export type DocumentFormat = 'pdf' | 'json';

/** A document that the processor has. */
interface Original {
  kind: DocumentKind;
  number: string;
  status: string;
  invoiceId: string | null;
  customer: string;
  currency: string;
  totalCents: number;
  taxCents: number;
  issuedAt: Date;
  pdfUrl: string;
  json: string;
}

const FETCH_MS = 15_000;
const PDF_LIMIT_BYTES = 10 * 1_024 * 1_024;
const CONTENT_TYPES = { pdf: 'application/pdf', json: 'application/json' } as const;

/** The customer of a document is no organization here. */
class UnknownCustomer extends Error {}
/** The processor has the document, and not yet its number or its file. */
class NotIssued extends Error {}

/**
 * Copies a document with its PDF and its JSON into the object store, once, and stores their SHA-256. Returns false for a draft and for an
 * open invoice, whose state may still change. Throws if the processor or the store does not answer: a later call tries again.
 */
export async function copyDocument(
  { db, payments, documents }: { db: Db; payments: Payments; documents: ObjectStore },
  { kind, documentId }: { kind: DocumentKind; documentId: string },
): Promise<boolean> {
  if (await isCopied(db, documentId)) return true;
  const original = await findOriginal(payments.stripe, { kind, documentId });
  if (!original) return false;
  const [account] = await db.query(sql<{ organizationId: string }>`
    SELECT organization_id AS "organizationId" FROM billing_account WHERE psp_customer = ${original.customer}`);
  if (!account) throw new UnknownCustomer(`${documentId} is of the customer ${original.customer}`);
  const { organizationId } = account;
  const place = `documents/${organizationId}/${documentId}`;
  const pdf = await put(documents, place, 'pdf', await fetchPdf(payments, original.pdfUrl));
  const json = await put(documents, place, 'json', Buffer.from(original.json));
  const stored = await db.execute(sql`
    INSERT INTO document (document_id, organization_id, kind, number, status, invoice_id, currency, total_cents, tax_cents, issued_at,
      pdf_key, pdf_sha256, json_key, json_sha256)
    VALUES (${documentId}, ${organizationId}, ${kind}, ${original.number}, ${original.status}, ${original.invoiceId},
      ${original.currency}, ${original.totalCents}, ${original.taxCents}, ${original.issuedAt},
      ${pdf.key}, ${pdf.sha256}, ${json.key}, ${json.sha256})
    ON CONFLICT DO NOTHING`);
  if (stored === 1) return true;
  for (const { key } of [pdf, json]) await documents.delete(key);
  if (!(await isCopied(db, documentId))) throw new Error(`${documentId} has the number of another document`);
  return true;
}

async function isCopied(db: Db, documentId: string): Promise<boolean> {
  const rows = await db.query(sql<{ one: number }>`SELECT 1 AS one FROM document WHERE document_id = ${documentId}`);
  return rows.length > 0;
}

async function findOriginal(
  stripe: Stripe,
  { kind, documentId }: { kind: DocumentKind; documentId: string },
): Promise<Original | undefined> {
  const document = await (kind === 'invoice'
    ? stripe.invoices.retrieve(documentId)
    : stripe.creditNotes.retrieve(documentId));
  const { currency, total, total_taxes: taxes, effective_at: effectiveAt, created } = document;
  const common = {
    ...{ kind, currency, totalCents: total, customer: idOf(document.customer), json: JSON.stringify(document) },
    taxCents: (taxes ?? []).reduce((sum, { amount }) => sum + amount, 0),
    issuedAt: new Date((effectiveAt ?? created) * 1_000),
  };
  if (document.object === 'credit_note')
    return {
      ...common,
      ...{ number: document.number, status: 'issued', invoiceId: idOf(document.invoice), pdfUrl: document.pdf },
    };
  const { status, number, invoice_pdf: pdfUrl } = document;
  if (status === null || status === 'draft' || status === 'open') return undefined;
  if (number === null || !pdfUrl) throw new NotIssued(`${documentId} has no number or no file yet`);
  return { ...common, status, number, invoiceId: null, pdfUrl };
}

const idOf = (value: string | { id: string } | null): string => (typeof value === 'string' ? value : (value?.id ?? ''));

async function fetchPdf({ stripe: _, fileOrigin }: Payments, url: string): Promise<Buffer> {
  const address = new URL(url);
  // A stand-in names itself as browsers know it, which a container cannot reach.
  const target = fileOrigin === undefined ? address : new URL(address.pathname + address.search, fileOrigin);
  const response = await fetch(target, { signal: AbortSignal.timeout(FETCH_MS) });
  if (!response.ok || !response.body) throw new Error(`the file of a document is answered with ${response.status}`);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body) {
    bytes += part.byteLength;
    if (bytes > PDF_LIMIT_BYTES) throw new Error(`the file of a document is larger than ${PDF_LIMIT_BYTES} bytes`);
    parts.push(part);
  }
  const pdf = Buffer.concat(parts);
  if (!pdf.subarray(0, 5).equals(Buffer.from('%PDF-'))) throw new Error('the file of a document is no PDF');
  return pdf;
}

/** Stores bytes under a key of their own, so that a put whose answer was lost can be done again. */
async function put(
  documents: ObjectStore,
  place: string,
  format: DocumentFormat,
  bytes: Buffer,
): Promise<{ key: string; sha256: string }> {
  const key = `${place}/${randomBytes(8).toString('hex')}.${format}`;
  const { sha256 } = await documents.put(key, Readable.from([bytes]), {
    contentType: CONTENT_TYPES[format],
    ...{ bytes: bytes.length, maxBytes: bytes.length },
  });
  return { key, sha256 };
}

interface DocumentRow {
  position: string;
  documentId: string;
  organizationId: string;
  kind: DocumentKind;
  number: string;
  status: 'paid' | 'void' | 'uncollectible' | 'issued';
  invoiceNumber: string | null;
  currency: Currency;
  totalCents: bigint;
  taxCents: bigint;
  issuedAt: Date;
  pdfKey: string;
  pdfSha256: string;
  jsonKey: string;
  jsonSha256: string;
  copiedAt: Date;
}

const selectDocuments = sql`
  SELECT document.position::TEXT AS position, document.document_id AS "documentId", document.organization_id AS "organizationId",
    document.kind, document.number, document.status, invoice.number AS "invoiceNumber", document.currency,
    document.total_cents AS "totalCents", document.tax_cents AS "taxCents", document.issued_at AS "issuedAt",
    document.pdf_key AS "pdfKey", document.pdf_sha256 AS "pdfSha256", document.json_key AS "jsonKey",
    document.json_sha256 AS "jsonSha256", document.copied_at AS "copiedAt"
  FROM document LEFT JOIN document AS invoice ON invoice.document_id = document.invoice_id`;

const toBody = (row: DocumentRow) => ({
  document_id: row.documentId,
  ...{ kind: row.kind, number: row.number, status: row.status, currency: row.currency },
  invoice_number: row.invoiceNumber,
  total_cents: Number(row.totalCents),
  tax_cents: Number(row.taxCents),
  issued_at: row.issuedAt.toISOString(),
});

const PAGE = 100;
const LAST = '9223372036854775807';

/** Lists the copies of an organization, the newest first, 100 a page. `next` is what to ask for as `before`. */
export async function listDocuments(db: Db, organizationId: string, before: string | undefined) {
  const rows = await db.query(sql<DocumentRow>`
    ${selectDocuments} WHERE document.organization_id = ${organizationId} AND document.position < ${before ?? LAST}::BIGINT
    ORDER BY document.position DESC LIMIT ${PAGE + 1}`);
  return {
    documents: rows.slice(0, PAGE).map(toBody),
    next: rows.length > PAGE ? (rows[PAGE - 1]?.position ?? null) : null,
  };
}

const toOperatorBody = (row: DocumentRow) => ({
  ...toBody(row),
  organization_id: row.organizationId,
  pdf_key: row.pdfKey,
  pdf_sha256: row.pdfSha256,
  json_key: row.jsonKey,
  json_sha256: row.jsonSha256,
  copied_at: row.copiedAt.toISOString(),
});

/** Lists the copies of all organizations or of one by their ids, for the operator. */
export async function listAllDocuments(
  db: Db,
  { after, organizationId }: { after: string; organizationId: string | undefined },
) {
  const rows = await db.query(sql<DocumentRow>`
    ${selectDocuments} WHERE document.document_id > ${after}
      AND (${organizationId ?? null}::TEXT IS NULL OR document.organization_id = ${organizationId ?? null})
    ORDER BY document.document_id LIMIT ${PAGE_SIZE}`);
  return {
    documents: rows.map(toOperatorBody),
    next_after: rows.length < PAGE_SIZE ? null : (rows.at(-1)?.documentId ?? null),
  };
}

/** Returns a copy by its id or its number. Throws `document_not_found`. */
export async function getDocument(db: Db, name: string) {
  const [row] = await db.query(
    sql<DocumentRow>`${selectDocuments} WHERE ${name} IN (document.document_id, document.number)`,
  );
  if (!row) throw new ApiError({ kind: 'document_not_found' });
  return toOperatorBody(row);
}

/** The bytes of a document as they were copied. */
export interface DocumentFile {
  name: string;
  contentType: string;
  bytes: Buffer;
}

/** The bytes in the store are not those that were copied. */
class CopyDiffers extends Error {}

/** Reads the bytes of an organization's document. Throws `document_not_found`, also for one of another organization, and `CopyDiffers`. */
export async function readDocument(
  { db, documents }: { db: Db; documents: ObjectStore | undefined },
  { organizationId, documentId, format }: { organizationId: string; documentId: string; format: DocumentFormat },
): Promise<DocumentFile> {
  const [row] = await db.query(sql<DocumentRow>`
    ${selectDocuments} WHERE document.document_id = ${documentId} AND document.organization_id = ${organizationId}`);
  if (!row || !documents) throw new ApiError({ kind: 'document_not_found' });
  const [key, sha256] = format === 'pdf' ? [row.pdfKey, row.pdfSha256] : [row.jsonKey, row.jsonSha256];
  const { content } = await documents.get(key);
  const bytes = await buffer(content);
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new CopyDiffers(`the ${format} of ${documentId} is not the one that was copied`);
  return {
    name: `${row.kind === 'invoice' ? 'Invoice' : 'Credit-note'}-${row.number.replaceAll(/[^\w-]/g, '-')}.${format}`,
    ...{ contentType: CONTENT_TYPES[format], bytes },
  };
}
