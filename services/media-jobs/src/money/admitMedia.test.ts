import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parseUsageRecorded } from '@turnpike/events/usageRecorded';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { anEarModel, anImageModel, aSpeechModel } from '../../test/aMediaModel.ts';
import { openTestMoney, type TestMoney } from '../../test/openTestMoney.ts';
import type { MediaModel } from '../catalog/mediaCatalog.ts';
import type { MediaOperation } from '../terms/mediaRequest.ts';
import { type AdmittedMedia, admitMedia, type MediaToAdmit } from './admitMedia.ts';

let money: TestMoney;
beforeAll(async () => {
  money = await openTestMoney();
});
afterAll(() => money.close());

const admit = (
  key: KeyRecord,
  { operation = 'images.generations', model = anImageModel(), ...fields }: Partial<MediaToAdmit> & Asked = {},
): Promise<AdmittedMedia> =>
  admitMedia(money.admission, {
    key,
    authenticateAgain: async () => key,
    operation,
    resolved: { model, priceVersion: 7 },
    unitsBound: 3,
    isStream: false,
    ...fields,
  });
interface Asked {
  operation?: MediaOperation;
  model?: MediaModel;
}
const walletOf = ({ workspace }: KeyRecord) => money.opened.walletOf(workspace.workspaceId);
const fault = (kind: string, fields: object = {}) => expect.objectContaining({ fault: { kind, ...fields } });

it.each<[MediaOperation, MediaModel, number, bigint]>([
  ['images.generations', anImageModel(), 3, 8_400_000n],
  ['audio.speech', aSpeechModel(), 4_096, 3_276_800n],
  ['audio.transcriptions', anEarModel(), 61, 1_525_000n],
])('holds what %s can cost at most', async (operation, model, unitsBound, holdNanoUsd) => {
  const key = await money.fund(10n ** 9n);
  const { call, hold, rateLimit } = await admit(key, { operation, model, unitsBound });
  expect(call).toMatchObject({ operation, model: model.id, unitsBound, holdNanoUsd, priceVersion: 7 });
  expect(hold).toMatchObject({ callId: call.callId, holdNanoUsd, estimatedPromptTokens: 0 });
  expect(rateLimit.limitRequests).toBe(key.rpm);
  expect(await walletOf(key)).toMatchObject({ held: holdNanoUsd });
  expect(parseUsageRecorded(hold.unknownEventJson)).toMatchObject({
    callId: call.callId,
    version: 2,
    operation,
    status: 'unknown',
    chargeNanoUsd: 0n,
    holdNanoUsd,
  });
});

it('never holds more than there is, whatever is asked for at once', async () => {
  const key = await money.fund(8_400_000n * 5n + 1n);
  const asked = await Promise.allSettled(Array.from({ length: 12 }, () => admit(key)));
  expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  expect(await walletOf(key)).toMatchObject({ held: 42_000_000n });
});

it('says what the call could cost, what remains of the key, and what limits it; and takes nothing', async () => {
  const key = await money.fund(8_399_999n, { maxBudgetNanoUsd: 9_000_000n, rpm: 2 });
  const refused = fault('insufficient_balance', {
    maxUsageCostNanoUsd: 8_400_000n,
    keyRemainingNanoUsd: 9_000_000n,
    remainingNanoUsd: 8_399_999n,
    heldNanoUsd: 0n,
    limitedBy: 'credit',
  });
  for (let nth = 0; nth < 4; nth += 1) await expect(admit(key)).rejects.toEqual(refused);
  expect(await walletOf(key)).toMatchObject({ held: 0n });
  await expect(admit(key, { unitsBound: 2 })).resolves.toMatchObject({ rateLimit: { remainingRequests: 1 } });
});

it('brings balances and credits that Redis does not have', async () => {
  const key = aKeyRecord();
  Object.assign(money.ledger.booksOf(key.workspace.workspaceId), { seq: 1, leftNanoUsd: 10_000_000n });
  await expect(admit(key)).resolves.toMatchObject({ hold: { holdNanoUsd: 8_400_000n } });
});

it('counts requests by the key, and refuses above its rate', async () => {
  const key = await money.fund(10n ** 9n, { rpm: 1 });
  await admit(key);
  await expect(admit(key)).rejects.toMatchObject({ fault: { kind: 'rate_limited', limiter: 'requests' } });
});

it.each([
  ['on_hold', 'account_on_hold'],
  ['not_provisioned', 'billing_not_provisioned'],
] as const)('refuses an account %s', async (billingStatus, kind) => {
  const key = await money.fund(10n ** 9n, { workspace: { billingStatus } });
  await expect(admit(key)).rejects.toEqual(fault(kind));
});

it('runs nothing without a price, or by one of what is not measured; a price of 0 is one, and needs no credit', async () => {
  const key = await money.fund(0n);
  const unpriced = fault('pricing_unavailable', { model: 'small-image' });
  await expect(admit(key, { model: anImageModel({ media: { unitPrice: null } }) })).rejects.toEqual(unpriced);
  await expect(admit(key, { model: anImageModel({ media: { billingUnit: 'second' } }) })).rejects.toEqual(unpriced);
  await expect(admit(key, { model: anImageModel({ media: { unitPrice: '0' } }) })).resolves.toMatchObject({
    hold: { holdNanoUsd: 0n },
  });
});

it('admits nothing that could not be recorded', async () => {
  const key = await money.fund(10n ** 9n);
  const full = { ...money.admission, spool: { isFull: true } };
  const asked = { authenticateAgain: async () => key, resolved: { model: anImageModel(), priceVersion: 7 } };
  await expect(
    admitMedia(full, { ...asked, key, operation: 'images.generations', unitsBound: 1, isStream: false }),
  ).rejects.toEqual(fault('spool_unavailable'));
});
