import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { MODELS, writeMediaCatalog } from '../conformance/support/writeMediaCatalog.ts';
import { createLinks } from '../support/createLinks.ts';
import { makeAccount } from '../support/makeAccount.ts';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';
import type { Client } from './client.ts';
import { ERROR_CASES, type ErrorCall, type ErrorCase, FLOOD_BURST } from './errorCases.ts';
import { goReleases, streamByGo } from './go/streamByGo.ts';
import { aiSdkClient } from './npm/aiSdkClient.ts';
import { langchainClient } from './npm/langchainClient.ts';
import { openaiClient } from './npm/openaiClient.ts';
import { pythonClients } from './python/pythonClients.ts';
import { SLOW_ANSWER, SLOW_CHAT, streamSlowly } from './streamSlowly.ts';

const PAGE = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
const isGoHere = process.env.TURNPIKE_TEST_GO === 'available';
const isPythonHere = process.env.TURNPIKE_TEST_PYTHON !== undefined;
const clients = [openaiClient, aiSdkClient, langchainClient, ...(isPythonHere ? pythonClients : [])];

/** The rows of the table of errors, as `402 spend_cap_reached`: one for each code that a row begins with. */
function listRows(): string[] {
  const [, section = ''] = PAGE.split('\n## Errors\n');
  const [table = ''] = /^\| status \|[\s\S]*?\n\n/m.exec(section) ?? [];
  return table.split('\n').flatMap((line) => {
    const [, status, codes = '', words = ''] = /^\| (\d{3})\s*((?:`\w+`(?:, )?)*)([^|]*)\|/.exec(line) ?? [];
    if (status === undefined) return [];
    const names = [...codes.matchAll(/\w+/g)].map(([name]) => `${status} ${name}`);
    return names.length > 0 ? names : [`${status} ${words.replaceAll('`', '')}`.trim()];
  });
}

const links = createLinks();
let folder: string | undefined;
let stack: TestStack;
beforeAll(async () => {
  const catalog = await writeMediaCatalog();
  folder = catalog.folder;
  const [started] = await Promise.all([
    startTestStack({
      kafka: false,
      openLink: links.openLink,
      catalogFile: catalog.served,
      serviceSettings: {
        // One address can be flooded while the clients have another.
        edge: { TRUSTED_HOPS: '1', LIMITS: { FLOOD_BURST, FLOOD_REQUESTS_PER_MINUTE: 1 } },
        catalog: { CATALOG_FILE: catalog.listed },
        // The cases of errors have no stream.
        'model-router': { LIMITS: { HEADERS_AFTER_MS: 1_000, KEEP_ALIVE_MS: 150 } },
      },
    }),
    // One that cannot begin says so at the first case.
    Promise.allSettled(clients.map((client) => client.open?.())),
  ]);
  stack = started;
});
afterAll(async () => {
  await Promise.all([stack?.stop(), ...clients.map((client) => client.close?.())]);
  await links.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Expects the error at every client that can make the call, all at once. */
async function expectAllTold({ row, says, param }: ErrorCase, { order, access }: ErrorCall): Promise<void> {
  const able = clients.filter(({ lacks }) => !lacks?.includes(order.do));
  expect(able.length).toBeGreaterThan(0);
  const { apiKey } = await makeAccount(stack);
  const seen = await Promise.all(
    able.map(async (client) => {
      const headers = { 'x-forwarded-for': addressOf(client), ...access?.headers };
      const call = { baseUrl: stack.baseUrl, apiKey, maxRetries: 0, ...access, headers };
      const { refusal } = await client.obey(order, call);
      const { status, sentence, param: seenParam } = refusal ?? {};
      return [client.name, { status, sentence, ...(param && { param: seenParam }) }];
    }),
  );
  const told = { status: Number(row.slice(0, 3)), sentence: expect.stringContaining(says), ...(param && { param }) };
  expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(able.map(({ name }) => [name, told])));
}

const addressOf = (client: Client): string => `203.0.114.${clients.indexOf(client)}`;

const untilListed = (): Promise<unknown> =>
  until('models to be listed', async () => {
    const { get } = await makeAccount(stack);
    return (await get('/models')).status === 200;
  });

it('has a case for each row of the table', () => {
  expect(ERROR_CASES.map(({ row }) => row).sort()).toEqual(listRows().sort());
});

it.each(ERROR_CASES)('$row: each client hands over "$says"', async (errorCase) => {
  expect.hasAssertions();
  await errorCase.show({ stack, links }, (call) => expectAllTold(errorCase, call));
  await untilListed();
});

it.each(clients)('$name reads a stream that begins with comments', async (client) => {
  expect(await streamSlowly(client, stack, MODELS.text)).toEqual(SLOW_ANSWER);
});

(isGoHere ? it : it.skip).each(goReleases)('%s reads a stream that begins with comments', async (release) => {
  expect(await streamByGo(release, stack, { ...SLOW_CHAT, model: MODELS.text })).toEqual(SLOW_ANSWER);
});
