import { relative } from 'node:path';
import { SERVICE_NAMES } from '@turnpike/config/services';
import { toUsdText } from '@turnpike/money/nanoUsd';
import { parsePrice } from '@turnpike/money/price';
import type { ListedModel } from '../listModels.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { SEEDED_CREDIT_USD } from '../seedWorkspace.ts';
import type { RunningStack } from '../startStack.ts';

/** Stands for the price of what a model never does. */
const NOT_APPLICABLE = '–';

export interface ReportOptions {
  stateDir: string;
  /** Marks a heading; leaves it as it is where the output is no terminal. */
  heading: (text: string) => string;
}

/** What a person who has just started a stack wants to know: what runs, what can be called, how to try it, how to end it. */
export function formatStack(running: RunningStack, { stateDir, heading }: ReportOptions): string {
  const { us } = running.stack.regions;
  const ofText = running.models.filter(isOfText);
  const ofMedia = running.models.filter((model) => !isOfText(model));
  const near = (path: string) => relative(repositoryRoot, path);
  return [
    heading('What runs'),
    formatTable([['part', 'address', 'internal', 'pid'], ...toPartRows(running)]),
    '',
    heading('Models (USD per million tokens)'),
    formatTable([['id', 'category', 'in', 'out', 'context'], ...ofText.map(toModelRow)], { right: [2, 3, 4] }),
    '',
    ...(ofMedia.length === 0 ? [] : [...formatMedia(ofMedia, heading), '']),
    heading('Accounts'),
    formatTable([
      ['dashboard', running.stack.account.origin, 'organizations, members, workspaces; its API is below /account'],
      ['console host', us.console_url, 'keys of region us, for the pages of the account layer'],
      ['sign-in pages', running.stack.account.identity_provider_url, 'Ada, Ben and Cleo: one click, no password'],
      ['mails', running.stack.account.mail_catcher_url, 'every mail of this stack ends here'],
    ]),
    '',
    heading(`Try it (the key's workspace was given ${SEEDED_CREDIT_USD} USD)`),
    formatCurl(us.base_url, us.api_key, ofText.find(generatesText)?.id ?? ''),
    '',
    `  Logs are in ${near(stateDir)}/logs, addresses and pids in ${near(stateDir)}/stack.json.`,
    '  Ctrl-C stops everything.',
  ].join('\n');
}

function toPartRows({ stack, parts }: RunningStack): string[][] {
  const { us } = stack.regions;
  const services = { ...us.services, ...stack.services };
  const addresses: Record<string, string> = {
    postgres: withoutSecret(us.postgres_url),
    redis: withoutSecret(us.redis_url),
    kafka: us.kafka_brokers ?? '',
    s3proxy: '',
  };
  return [
    ...SERVICE_NAMES.map((service) => {
      const { url, internal_url: internalUrl, pid } = services[service];
      return [service, service === 'edge' ? us.base_url : url, internalUrl, String(pid)];
    }),
    ...parts.stores.map(({ name, pid }) => [name, addresses[name] ?? '', '', String(pid)]),
    ...parts.engines.map(({ name, urls, adminUrl, pid }) => [
      name,
      urls.length === 1 ? `${urls[0]}` : `${urls[0]}…${new URL(urls.at(-1) ?? '').port}`,
      adminUrl ?? '',
      pid === null ? 'not ours' : String(pid),
    ]),
    ['identity-provider', stack.account.identity_provider_url, '', String(parts.account.identityProvider.pid)],
    ['mail-catcher', stack.account.mail_catcher_url, '', String(parts.account.mailCatcher.pid)],
    ...(parts.media ? [['media-simulators', toSpan(us.media_backends), '', String(parts.media.pid)]] : []),
  ];
}

/** The first address, and the last port. */
const toSpan = (backends: { url: string }[]): string =>
  `${backends[0]?.url}…${new URL(backends.at(-1)?.url ?? '').port}`;

const isOfText = ({ billing_unit: unit }: ListedModel): boolean => unit === undefined;

const formatMedia = (models: ListedModel[], heading: ReportOptions['heading']): string[] => [
  heading('Media models (USD)'),
  formatTable(
    [
      ['id', 'category', 'price', 'for one'],
      ...models.map((model) => [
        model.id,
        model.category,
        model.unit_price ?? NOT_APPLICABLE,
        model.billing_unit ?? '',
      ]),
    ],
    { right: [2] },
  ),
];

/** All of text answer chats, but for those that turn texts into vectors. */
const generatesText = ({ category }: ListedModel): boolean => category !== 'embeddings';

function toModelRow(model: ListedModel): string[] {
  const { id, category, pricing, context_length: contextLength } = model;
  return [
    id,
    category,
    perMillion(pricing.prompt),
    generatesText(model) ? perMillion(pricing.completion) : NOT_APPLICABLE,
    contextLength.toLocaleString('en-US'),
  ];
}

/** A price is an exact count of 1e-18 USD; a million of them is a whole count of nano-dollars down to 1e-15 USD a token. */
function perMillion(price: string): string {
  return toUsdText(parsePrice(price) / 1_000n);
}

function withoutSecret(address: string): string {
  const url = new URL(address);
  return `${url.protocol}//${url.host}`;
}

function formatCurl(baseUrl: string, apiKey: string, model: string): string {
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello there' }] });
  return [
    `  curl -N ${baseUrl}/chat/completions \\`,
    `    -H 'Authorization: Bearer ${apiKey}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${body}'`,
  ].join('\n');
}

/** Rows as aligned columns, two spaces apart and indented by two. Columns named in `right` are aligned to the right. */
function formatTable(rows: string[][], { right = [] }: { right?: number[] } = {}): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => {
      const cells = row.map((cell, column) =>
        right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      );
      return `  ${cells.join('  ')}`.trimEnd();
    })
    .join('\n');
}
