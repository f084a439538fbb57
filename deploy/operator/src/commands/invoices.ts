import type { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { documentName, organizationId } from '../cli/fields.ts';
import { toInstantCell, toMoneyCell } from '../report/amounts.ts';
import { formatTable } from '../report/formatTable.ts';
import { readPages } from '../stack/readPages.ts';

type Document = z.output<typeof controlPlaneApi.routes.getDocument.answer>;

const COLUMNS = [
  { title: 'number' },
  { title: 'kind' },
  { title: 'organization' },
  { title: 'total' },
  { title: 'tax' },
  { title: 'status' },
  { title: 'issued' },
  { title: 'id' },
];

export const listInvoices = defineCommand({
  words: 'invoices list',
  summary: 'copies of invoices and credit notes, of all organizations or of one',
  isOfAllRegions: true,
  options: { organization: { value: 'ORG', help: 'those of this organization alone' } },
  input: z.object({ organization: organizationId.optional() }),
  async run({ organization }, { services, table }) {
    const documents = await readPages(async (after) => {
      const page = await services.account.listDocuments({ params: { after, organization_id: organization } });
      return { entries: page.documents, nextAfter: page.next_after };
    });
    const rows = documents
      .toSorted((a, b) => a.issued_at.localeCompare(b.issued_at))
      .map((document) => [
        document.number,
        toKind(document),
        document.organization_id,
        toMoneyCell(document.total_cents, document.currency),
        toMoneyCell(document.tax_cents, document.currency),
        document.status,
        toInstantCell(document.issued_at),
        document.document_id,
      ]);
    return { document: { documents }, text: rows.length > 0 ? table(COLUMNS, rows) : 'There are no invoices.' };
  },
});

export const showInvoice = defineCommand({
  words: 'invoices show',
  summary: 'one invoice or credit note, with the place and the SHA-256 of its copies',
  isOfAllRegions: true,
  operands: { documentName: 'NUMBER' },
  input: z.object({ documentName }),
  async run({ documentName: name }, { services }) {
    const document = await services.account.getDocument({ params: { document: name } });
    const text = formatTable([
      ['number', document.number],
      ['kind', toKind(document)],
      ...(document.invoice_number === null ? [] : [['about', document.invoice_number]]),
      ['id', document.document_id],
      ['organization', document.organization_id],
      ['total', toMoneyCell(document.total_cents, document.currency)],
      ['tax', toMoneyCell(document.tax_cents, document.currency)],
      ['status', document.status],
      ['issued', toInstantCell(document.issued_at)],
      ['copied', toInstantCell(document.copied_at)],
      ['PDF', document.pdf_key],
      ['SHA-256 of the PDF', document.pdf_sha256],
      ['JSON', document.json_key],
      ['SHA-256 of the JSON', document.json_sha256],
    ]);
    return { document, text };
  },
});

const toKind = ({ kind }: Document): string => (kind === 'invoice' ? 'invoice' : 'credit note');
