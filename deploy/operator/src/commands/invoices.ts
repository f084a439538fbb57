import type { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { documentName, option, organizationId } from '../cli/fields.ts';
import { toMoneyCell } from '../report/cells.ts';
import { type Columns, toFacts } from '../report/entries.ts';
import { formatTable } from '../report/formatTable.ts';
import { readPages } from '../stack/readPages.ts';

/** The facts of an invoice or a credit note that a list has too. */
const COLUMNS: Columns<z.output<typeof controlPlaneApi.routes.getDocument.answer>> = {
  number: 'number',
  kind: ({ kind }) => (kind === 'invoice' ? 'invoice' : 'credit note'),
  organization: 'organization_id',
  total: (document) => toMoneyCell(document.total_cents, document.currency),
  tax: (document) => toMoneyCell(document.tax_cents, document.currency),
  status: 'status',
  issued: 'issued_at',
  id: 'document_id',
};

export const invoiceCommands: Command[] = [
  defineList({
    words: 'invoices list',
    summary: 'copies of invoices and credit notes, of all organizations or of one',
    isOfAllRegions: true,
    input: z.object({ organization: option('ORG', 'those of this organization alone', organizationId.optional()) }),
    name: 'documents',
    ifNone: 'There are no invoices.',
    async read({ organization }, { services: { account } }) {
      const params = { organization_id: organization };
      const documents = await readPages('documents', (after) =>
        account.listDocuments({ params: { ...params, after } }),
      );
      return documents.toSorted((a, b) => a.issued_at.localeCompare(b.issued_at));
    },
    columns: COLUMNS,
  }),
  defineCommand({
    words: 'invoices show',
    summary: 'one invoice or credit note, with the place and the SHA-256 of its copies',
    isOfAllRegions: true,
    input: z.object({ documentName }),
    async run({ documentName: name }, { services }) {
      const document = await services.account.getDocument({ params: { document: name } });
      const facts = toFacts(
        {
          ...COLUMNS,
          ...(document.invoice_number !== null && { about: 'invoice_number' }),
          copied: 'copied_at',
          PDF: 'pdf_key',
          'SHA-256 of the PDF': 'pdf_sha256',
          JSON: 'json_key',
          'SHA-256 of the JSON': 'json_sha256',
        },
        document,
      );
      return { document, text: formatTable(facts) };
    },
  }),
];
