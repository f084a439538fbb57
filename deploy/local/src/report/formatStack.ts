import { relative } from 'node:path';
import { REGIONS, type Region } from '@turnpike/config/region';
import { GLOBAL_SERVICES, REGION_SERVICES } from '@turnpike/config/services';
import { toUsdText } from '@turnpike/money/nanoUsd';
import { parsePrice } from '@turnpike/money/price';
import type { LaunchedParts } from '../launchParts.ts';
import type { ListedModel } from '../listModels.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { SEEDED_CREDIT_USD } from '../seedWorkspace.ts';
import type { StackDescription, StackRegion } from '../stackFile.ts';
import type { RunningRegion, RunningStack } from '../startStack.ts';

/** Text in place of a price that does not apply. */
const NOT_APPLICABLE = '–';

export interface ReportOptions {
  stateDir: string;
  /** Formats a heading; unchanged if the output is no terminal. */
  heading: (text: string) => string;
}

/** A region with its addresses. */
type ShownRegion = RunningRegion & { region: StackRegion };

/** Formats a new stack for its user: the parts, the addresses, a first call, and how to stop it. */
export function formatStack({ stack, regions }: RunningStack<Region>, { stateDir, heading }: ReportOptions): string {
  const names = REGIONS.filter((name) => name in regions);
  const running = names.map((name) => ({ name, region: stack.regions[name], ...regions[name] }));
  const of = (name: Region): string => (names.length === 1 ? '' : ` of region ${name}`);
  const near = (path: string) => relative(repositoryRoot, path);
  return [
    heading('What runs'),
    formatTable([['part', 'address', 'internal', 'pid'], ...toPartRows(stack, running)]),
    '',
    ...running.flatMap(({ name, models }) => [
      heading(`Models${of(name)} (USD per million tokens)`),
      formatText(models.filter(isOfText)),
      '',
      ...(models.every(isOfText) ? [] : [heading(`Media models${of(name)} (USD)`), formatMedia(models), '']),
    ]),
    heading('Accounts'),
    formatTable([
      ['dashboard', stack.account.origin, 'organizations, members, workspaces; its API is below /account'],
      ...running.map(({ name, region }) => [
        'console host',
        region.console_url,
        `keys of region ${name}, for the pages of the account layer`,
      ]),
      ['sign-in pages', stack.account.identity_provider_url, 'Ada, Ben and Cleo: one click, no password'],
      ['mails', stack.account.mail_catcher_url, 'every mail of this stack ends here'],
    ]),
    '',
    ...running.flatMap(({ name, region, models }) => [
      heading(
        `Try it${names.length === 1 ? '' : ` in region ${name}`} (the key's workspace was given ${SEEDED_CREDIT_USD} USD)`,
      ),
      formatCurl(region.base_url, region.api_key, models.filter(isOfText).find(generatesText)?.id ?? ''),
      '',
    ]),
    `  Logs are in ${near(stateDir)}/logs, addresses and pids in ${near(stateDir)}/stack.json.`,
    '  Ctrl-C stops everything.',
  ].join('\n');
}

/** A row a part, by the name that the part's log has: services, stores and engines, then what is beside them. */
function toPartRows(stack: StackDescription<Region>, running: ShownRegion[]): string[][] {
  const [home] = running;
  return [
    ...running.flatMap(({ region, parts }) =>
      REGION_SERVICES.map((service) => {
        const { url, internal_url: internalUrl, pid } = region.services[service];
        return [parts.services[service].name, service === 'edge' ? region.base_url : url, internalUrl, String(pid)];
      }),
    ),
    ...(running.length > 1 && stack.legacy_base_url ? [['us-edge, legacy host', stack.legacy_base_url, '', '']] : []),
    ...GLOBAL_SERVICES.map((service) => {
      const { url, internal_url: internalUrl, pid } = stack.services[service];
      return [service, url, internalUrl, String(pid)];
    }),
    ...running.flatMap(({ region, parts }) => toStoreRows(region, parts)),
    ['identity-provider', stack.account.identity_provider_url, '', String(home?.parts.account.identityProvider.pid)],
    ['mail-catcher', stack.account.mail_catcher_url, '', String(home?.parts.account.mailCatcher.pid)],
    [
      'payments-simulator',
      stack.account.payments_url,
      stack.account.payments_admin_url,
      String(home?.parts.account.payments.pid),
    ],
    ...running.flatMap(({ region, parts: { media } }) =>
      media ? [[media.name, toSpan(region.media_backends), '', String(media.pid)]] : [],
    ),
  ];
}

function toStoreRows(region: StackRegion, { stores, engines }: LaunchedParts): string[][] {
  const addresses: Record<string, string> = {
    postgres: withoutSecret(region.postgres_url),
    redis: withoutSecret(region.redis_url),
    kafka: region.kafka_brokers ?? '',
  };
  const toAddress = (name: string): string => addresses[name.split('-').at(-1) ?? ''] ?? '';
  return [
    ...stores.map(({ name, pid }) => [name, toAddress(name), '', String(pid)]),
    ...engines.map(({ name, urls, adminUrl, pid }) => [
      name,
      urls.length === 1 ? `${urls[0]}` : `${urls[0]}…${new URL(urls.at(-1) ?? '').port}`,
      adminUrl ?? '',
      pid === null ? 'not ours' : String(pid),
    ]),
  ];
}

/** The first address, and the last port. */
const toSpan = (backends: { url: string }[]): string =>
  `${backends[0]?.url}…${new URL(backends.at(-1)?.url ?? '').port}`;

const isOfText = ({ billing_unit: unit }: ListedModel): boolean => unit === undefined;

const formatText = (models: ListedModel[]): string =>
  formatTable([['id', 'category', 'in', 'out', 'context'], ...models.map(toModelRow)], { right: [2, 3, 4] });

const formatMedia = (models: ListedModel[]): string =>
  formatTable(
    [
      ['id', 'category', 'price', 'for one'],
      ...models
        .filter((model) => !isOfText(model))
        .map((model) => [model.id, model.category, model.unit_price ?? NOT_APPLICABLE, model.billing_unit ?? '']),
    ],
    { right: [2] },
  );

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
