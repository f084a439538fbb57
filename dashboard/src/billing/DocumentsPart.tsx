import { Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { DOCUMENT_PATH, type DocumentFormat } from '@turnpike/console-api/account/billing';
import { callRoute } from '@turnpike/console-api/callRoute';
import type * as z from 'zod/mini';
import { routes } from '../account.ts';
import { Older } from '../shell/Older.tsx';
import { Badge, Loaded, Moment, Part } from '../shell/states.tsx';
import { WideTable } from '../shell/WideTable.tsx';
import { formatCents, type TopUp } from './money.ts';

type Document = z.output<typeof routes.listDocuments.answer>['documents'][number];

const STATUSES: Record<Document['status'], string> = {
  paid: 'Paid',
  void: 'Void',
  uncollectible: 'Not paid',
  issued: 'Issued',
};
const COLUMNS = ['Number', 'Issued', 'State', 'Tax', 'Total', 'Files'];

/** Between two looks for an invoice that is about to come. */
const POLL_MS = 2_000;
/** A payment is new so long. Older ones without a copy are not waited for. */
const NEW_MS = 600_000;

/** The invoices and credit notes of the organization, with their files. Looks again until those of new payments are there. */
export function DocumentsPart({ organizationId, topUps }: { organizationId: string; topUps: TopUp[] }) {
  const isNew = ({ charged_at: at }: TopUp): boolean => at !== null && Date.parse(at) > Date.now() - NEW_MS;
  const awaited = topUps.filter(isNew).map(({ invoice_number: number }) => number);
  const list = useInfiniteQuery({
    queryKey: ['documents', organizationId],
    queryFn: ({ pageParam: before }) =>
      callRoute(routes.listDocuments, { params: { organization_id: organizationId, before } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: ({ state: { data } }) => {
      const known = new Set(data?.pages.flatMap((page) => page.documents.map(({ number }) => number)));
      return awaited.some((number) => number !== null && !known.has(number)) ? POLL_MS : false;
    },
  });
  const documents = list.data?.pages.flatMap((page) => page.documents) ?? [];
  return (
    <Part title="Invoices and credit notes">
      <Text size="sm" c="dimmed">
        Of all workspaces of the organization. An invoice comes some moments after its payment.
      </Text>
      <Loaded query={list}>
        {() =>
          documents.length === 0 ? (
            <Text>There are none so far.</Text>
          ) : (
            <>
              <WideTable label="Invoices and credit notes" columns={COLUMNS}>
                {documents.map((document) => (
                  <Row key={document.document_id} organizationId={organizationId} document={document} />
                ))}
              </WideTable>
              <Older query={list}>Show older documents</Older>
            </>
          )
        }
      </Loaded>
    </Part>
  );
}

function Row({ organizationId, document }: { organizationId: string; document: Document }) {
  const { number, kind, invoice_number: about, currency, tax_cents: tax, total_cents: total } = document;
  const linkTo = (format: DocumentFormat) => (
    <a className="link" href={toPath(organizationId, document, format)} download aria-label={`${format} of ${number}`}>
      {format.toUpperCase()}
    </a>
  );
  return (
    <tr>
      <td>
        {number}
        {kind === 'credit_note' && (
          <Text size="xs" c="dimmed">
            Credit note{about === null ? '' : ` for ${about}`}
          </Text>
        )}
      </td>
      <td>
        <Moment at={document.issued_at} />
      </td>
      <td>
        <Badge>{STATUSES[document.status]}</Badge>
      </td>
      <td>{formatCents(currency, tax)}</td>
      <td>{formatCents(currency, total)}</td>
      <td>
        <span className="row-buttons">
          {linkTo('pdf')} {linkTo('json')}
        </span>
      </td>
    </tr>
  );
}

const toPath = (organizationId: string, { document_id: id }: Document, format: DocumentFormat): string =>
  DOCUMENT_PATH.replace(':organization_id', organizationId).replace(':document_id', id).replace(':format', format);
