import { expect, it } from '@jest/globals';
import { formatTable } from '../report/formatTable.ts';
import type { Services } from '../stack/createServices.ts';
import { rotateKey } from './keySecrets.ts';

const aKey = (id: string) => ({
  key_id: id,
  workspace_id: 'ws_1',
  last_four: 'abcd',
  name: 'Key',
  status: 'active',
  rpm: 60,
  tpm: 1_000,
  max_budget_nano_usd: null,
  period_budget: null,
  allowed_models: null,
  expires_at: null,
  created_at: '2026-11-22T00:00:00Z',
  old_secret: null,
});

it.each([
  ['was told', true],
  ['was not told, and says so', false],
])('shows the new secret where the gate %s', async (_case, isTold) => {
  const rotation = { new_key: aKey('key_1'), old_key: aKey('key_1'), gate_told: isTold };
  const services = { auth: { rotateKey: async () => rotation } } as unknown as Services;
  const { text, document } = await rotateKey.run(
    { keyId: 'key_1' },
    {
      services,
      readHealth: async () => ({ state: 'no_answer', missing: [], warnings: [], build: null, metrics: new Map() }),
      callEdge: async () => undefined,
      addressOf: () => undefined,
      table: (columns, rows) => formatTable(rows, { columns }),
      confirm: async () => {},
      region: 'us',
      regions: [],
      explain: () => undefined,
      announce: () => {},
    },
  );
  const { api_key: apiKey } = document as { api_key: string };
  expect(document).toMatchObject({ gate_told: isTold });
  expect(text).toContain(apiKey);
  expect(/The gate was not told/.test(text)).toBe(!isTold);
});
