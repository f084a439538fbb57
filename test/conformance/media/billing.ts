import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { daysAroundNow } from '../../support/daysAroundNow.ts';
import { listRenders, orderMediaBackends } from '../../support/mediaBackends.ts';
import { toNano } from '../../support/priceOf.ts';
import {
  aCaller,
  anImage,
  aPrompt,
  aRecording,
  aSpeech,
  aVideo,
  aWav,
  expectSpent,
  type Job,
  made,
} from '../support/mediaCalls.ts';
import { stack } from '../support/mediaStack.ts';
import { row } from '../support/row.ts';
import { MODELS, PRICES } from '../support/writeMediaCatalog.ts';

const GENERATE = '/images/generations';

const rendersOf = async (prompt: string) => (await listRenders(stack)).filter((render) => render.prompt === prompt);
const spendOf = ({ usage }: Job): bigint => toNano(usage?.total_spend ?? 0);

row('media.billing.images', async () => {
  const caller = await aCaller();
  const prompt = aPrompt();
  const { body } = await caller.post(GENERATE, anImage({ n: 4, prompt }));
  expect(body).toMatchObject({ usage: { billing_unit: 'image', units_consumed: 4, total_spend: 0.01 } });
  await expectSpent(caller, 4n * PRICES.image);
  const rendered = await rendersOf(prompt);
  expect(rendered.reduce((sum, { units }) => sum + (units.images ?? 0), 0)).toBe(4);
});

row('media.billing.videos', async () => {
  const caller = await aCaller();
  // Engines round frames up, so there is a little more in it than was asked for.
  const job = await made(caller, '/videos', aVideo({ seconds: '2' }));
  expect(job.usage).toEqual({ billing_unit: 'second', units_consumed: 2, total_spend: 0.02 });
  await expectSpent(caller, 2n * PRICES.second);
  await orderMediaBackends(stack, 'faults', { model: MODELS.video, body: [{ match: {}, fault: 'output_other_size' }] });
  const shorter = await made(caller, '/videos', aVideo({ seconds: '2' })).finally(() =>
    orderMediaBackends(stack, 'faults', { model: MODELS.video, method: 'DELETE' }),
  );
  const seconds = shorter.usage?.units_consumed ?? 0;
  expect(seconds).toBeLessThanOrEqual(2);
  expect(spendOf(shorter)).toBe(BigInt(seconds) * PRICES.second);
  await expectSpent(caller, 2n * PRICES.second + spendOf(shorter));
});

row('media.billing.speech', async () => {
  const caller = await aCaller();
  // Seven code points, in nine units and sixteen bytes.
  const input = 'né 🎙🎙 a';
  const { status } = await caller.post('/audio/speech', aSpeech({ input }));
  expect(status).toBe(200);
  await expectSpent(caller, 7n * PRICES.character);
  const job = await made(caller, '/audio/speech', aSpeech({ input, async: true }));
  expect(job.usage).toEqual({ billing_unit: 'character', units_consumed: 7, total_spend: 0.0000056 });
  await expectSpent(caller, 14n * PRICES.character);
});

row('media.billing.transcripts', async () => {
  const caller = await aCaller();
  let spent = 0n;
  for (const [seconds, heard] of [
    [1.2, 2n],
    [30, 30n],
  ] as const) {
    const file = aWav({ seconds, rate: 8_000 });
    expect((await caller.post('/audio/transcriptions', aRecording({}, file))).status).toBe(200);
    spent += (heard * PRICES.minute) / 60n;
    await expectSpent(caller, spent);
  }
  const job = await made(caller, '/audio/transcriptions', aRecording({ async: 'true' }, aWav({ seconds: 7 })));
  expect(job.usage).toEqual({ billing_unit: 'minute', units_consumed: 7 / 60, total_spend: 0.000175 });
  await caller.post('/audio/translations', aRecording({}, aWav({ seconds: 7 })));
  await expectSpent(caller, spent + (14n * PRICES.minute) / 60n);
});

interface Sums {
  requests: number;
  success: number;
  failure: number;
  units_consumed: number | null;
  total_spend: number;
  modality?: string;
}

row('media.billing.aggregate', async () => {
  const caller = await aCaller();
  const jobs = {
    image: [
      await made(caller, GENERATE, anImage({ n: 3, async: true })),
      await made(caller, GENERATE, anImage({ async: true })),
    ],
    video: [await made(caller, '/videos', aVideo()), await made(caller, '/videos', aVideo({ seconds: '2' }))],
    audio: [await made(caller, '/audio/speech', aSpeech({ async: true }))],
  };
  const spent = Object.values(jobs)
    .flat()
    .reduce((sum, job) => sum + spendOf(job), 0n);
  await expectSpent(caller, spent);
  const { data, totals } = await until('all of it to be recorded', async () => {
    const { body } = await caller.account.get<{ data: Sums[]; totals: Sums }>(
      `/svc/usage?${daysAroundNow()}&group_by=modality`,
    );
    return body.totals.requests === 5 ? body : undefined;
  });
  for (const [modality, made] of Object.entries(jobs)) {
    const sums = data.find((each) => each.modality === modality);
    expect(sums).toMatchObject({
      requests: made.length,
      success: made.length,
      failure: 0,
      units_consumed: made.reduce((sum, { usage }) => sum + (usage?.units_consumed ?? 0), 0),
    });
    expect(toNano(sums?.total_spend ?? 0)).toBe(made.reduce((sum, job) => sum + spendOf(job), 0n));
  }
  expect(data).toHaveLength(3);
  expect(toNano(totals.total_spend)).toBe(spent);
});

row('media.billing.client-leaves-images', async () => {
  const caller = await aCaller();
  const prompt = aPrompt();
  const leaving = new AbortController();
  await orderMediaBackends(stack, 'pause', { model: MODELS.image });
  const left = caller.open(GENERATE, anImage({ prompt }), leaving.signal).catch(() => undefined);
  await until('the backend to have it', async () => (await rendersOf(prompt)).length > 0).finally(async () => {
    leaving.abort();
    await left;
    await orderMediaBackends(stack, 'resume', { model: MODELS.image });
  });
  await expectSpent(caller, PRICES.image);
  expect((await rendersOf(prompt)).map(({ state }) => state)).toEqual(['finished']);
});

row('media.billing.client-leaves-speech', async () => {
  const caller = await aCaller();
  const input = aPrompt();
  const leaving = new AbortController();
  const faults = [{ match: {}, fault: 'body_slow', byteMs: 1 }];
  await orderMediaBackends(stack, 'faults', { model: MODELS.speech, body: faults });
  try {
    const response = await caller.open('/audio/speech', aSpeech({ input }), leaving.signal);
    await response.body?.getReader().read();
    leaving.abort();
  } finally {
    await orderMediaBackends(stack, 'faults', { model: MODELS.speech, method: 'DELETE' });
  }
  await expectSpent(caller, BigInt(input.length) * PRICES.character);
});
