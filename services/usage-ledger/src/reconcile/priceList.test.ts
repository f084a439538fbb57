import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aMediaUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { catalogSnapshotSchema } from '@turnpike/internal-api/catalogSnapshot';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { createPriceList, createPricesOf } from './priceList.ts';
import { readBooks } from './readBooks.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const pricing = {
  prompt: '0.000001',
  completion: '0.00000005',
  input_cache_read: '0.00000105',
  request: '0',
  image: '0',
  web_search: '0',
  internal_reasoning: '0',
};
const aModel = (id: string, fields: object) => ({
  id,
  name: id,
  huggingFaceId: '',
  aliases: [],
  category: 'text',
  inputModalities: ['text'],
  outputModalities: ['text'],
  quantization: 'unknown',
  contextLength: 1,
  maxOutputLength: 1,
  pricing,
  state: 'live',
  replacement: null,
  supportedFeatures: [],
  supportedParameters: [],
  supportedSamplingParameters: [],
  isCacheCapable: true,
  templateTokensPerMessage: 0,
  templateTokensPerRequest: 0,
  maxTokensPerImage: 0,
  createdAt: 0,
  ...fields,
});
const anImageModel = (id: string, unitPrice: string | null) =>
  aModel(id, { category: 'image', media: { billingUnit: 'image', unitPrice, capabilities: {} } });

it('prices calls of tokens and of units by the version that they name, and leaves alone what the catalog has no price for', async () => {
  const asked: number[] = [];
  const pricesOf = createPricesOf({
    async getCatalogVersion({ params: { version } }) {
      asked.push(version);
      const image = anImageModel('small-image', version === 1 ? '0.0000625' : '0.01');
      const models = [aModel('small-chat', {}), image, anImageModel('unpriced-image', null)];
      return catalogSnapshotSchema.parse({ version, region: 'us', models });
    },
  });
  const listPrices = createPriceList(pricesOf);
  const workspaceId = 'ws_listed';
  const dearer = { chargeNanoUsd: 20_000_000n, formulaNanoUsd: 20_000_000n, holdNanoUsd: 20_000_000n };
  await aPartition(ledger.db).deliver([
    aUsageRecorded({ workspaceId }),
    aMediaUsageRecorded({ workspaceId }),
    aMediaUsageRecorded({ workspaceId, priceVersion: 2, ...dearer }),
    aMediaUsageRecorded({ workspaceId, canonicalModel: 'unpriced-image' }),
  ]);
  for (let round = 0; round < 2; round += 1) {
    const prices = await listPrices(ledger.db, { since: new Date(0), workspaceId });
    const [books] = await readBooks(ledger.db, prices, workspaceId);
    expect(books?.unpriced).toBe(1n);
    expect(books?.checks.filter(({ verdict }) => verdict !== 'equal')).toEqual([]);
  }
  expect(asked.sort()).toEqual([1, 2]);
});
