import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { expectNotAdmitted } from '../support/expectBilled.ts';
import type { Order } from './order.ts';
import type { Step, StepContext } from './step.ts';

const IMAGES = { model: 'flux.1-schnell', nanoUsd: 2_800_000n };
const CLIPS = { model: 'wan2.2-t2v-a14b', nanoUsd: 10_000_000n };
const SPEECH = { model: 'kokoro-82m', nanoUsd: 800n };
const TRANSCRIPTS = { model: 'whisper-large-v3' };
const SAYING = 'two small boats wait, en été';

const startOf = (base64 = ''): string => Buffer.from(base64, 'base64').toString('latin1', 0, 12);
const aPicture = (fields: object = {}): Order => ({
  do: 'draw',
  model: IMAGES.model,
  prompt: 'a cat',
  count: 1,
  as: 'b64_json',
  ...fields,
});

const untilSpent = ({ account }: StepContext, nanoUsd: bigint): Promise<unknown> =>
  until(`a spend of ${nanoUsd} nano-dollars`, async () => (await account.findSpend()) === nanoUsd);

/** What clients do with images, clips and audio. */
export const mediaSteps: Step[] = [
  {
    does: 'gets images, as bytes and by addresses',
    needs: 'draw',
    async check(context) {
      const { images = [] } = await context.ask(aPicture({ count: 2 }));
      expect(images.map(startOf)).toEqual(Array(2).fill(expect.stringMatching(/^\x89PNG/)));
      const { images: addresses = [] } = await context.ask(aPicture({ as: 'url' }));
      const headers = { authorization: `Bearer ${context.account.apiKey}` };
      const [image] = await Promise.all(addresses.map((url) => fetch(url, { headers })));
      expect({ status: image?.status, type: image?.headers.get('content-type') }).toEqual({
        status: 200,
        type: 'image/png',
      });
      await untilSpent(context, 3n * IMAGES.nanoUsd);
    },
  },
  {
    does: 'waits for a clip, fetches it, finds it in the list and deletes it',
    needs: 'film',
    async check(context) {
      // One that stays, so that the list has a second page.
      const other = await context.account.post('/videos', { model: CLIPS.model, prompt: 'a dog', seconds: '3' });
      const { id } = (await other.json()) as { id: string };
      const { clip } = await context.ask({ do: 'film', model: CLIPS.model, prompt: 'a cat', seconds: '3' });
      expect(clip).toMatchObject({ status: 'completed', deleted: true, errorAfterwards: 'NotFoundError' });
      expect(startOf(clip?.bytes)).toMatch(/^....ftyp/s);
      expect(clip?.listed).toHaveLength(2);
      expect(clip?.listed.at(-1)).toBe(id);
      await untilSpent(context, 6n * CLIPS.nanoUsd);
    },
  },
  {
    does: 'writes speech into a file as it comes, and has it written down again',
    needs: 'speak',
    async check(context) {
      const order = { do: 'speak', model: SPEECH.model, text: SAYING, voice: 'af_heart' } as const;
      expect(startOf((await context.ask({ ...order, format: 'mp3' })).audio)).toMatch(/^(?:ID3|\xff)/);
      const { audio = '' } = await context.ask({ ...order, format: 'wav' });
      expect(startOf(audio)).toMatch(/^RIFF....WAVE/s);
      await untilSpent(context, BigInt(2 * SAYING.length) * SPEECH.nanoUsd);
      for (const [format, text] of [
        ['json', SAYING],
        ['verbose_json', SAYING],
        ['srt', expect.stringMatching(/^1\n00:00:00,000 --> 00:00:0\d,\d{3}\ntwo small/)],
      ] as const)
        expect(await context.ask({ do: 'hear', model: TRANSCRIPTS.model, audio, format })).toMatchObject({ text });
    },
  },
  {
    does: 'takes refusals of media for what they are, and repeats none',
    needs: 'draw',
    async check({ client, account, ask }) {
      const unknown = await ask(aPicture({ model: 'no-such-model' }));
      expect(unknown).toMatchObject({ calls: [{ status: 404 }], refusal: { errorName: client.errors.unknownModel } });
      const wrong = await ask(aPicture({ count: 99 }));
      expect(wrong).toMatchObject({ calls: [{ status: 422 }], refusal: { errorName: 'UnprocessableEntityError' } });
      const noVoice = await ask({ do: 'speak', model: SPEECH.model, text: 'hi', voice: 'nobody', format: 'mp3' });
      expect(noVoice).toMatchObject({ calls: [{ status: 422 }], refusal: { status: 422 } });
      const noAudio = await ask({ do: 'hear', model: TRANSCRIPTS.model, audio: 'AAAA', format: 'json' });
      expect(noAudio).toMatchObject({ calls: [{ status: 422 }], refusal: { status: 422 } });
      const mistyped = await ask(aPicture(), { apiKey: `${account.apiKey.slice(0, -2)}xx` });
      expect(mistyped).toMatchObject({ calls: [{ status: 401 }], refusal: { errorName: client.errors.wrongKey } });
      await expectNotAdmitted(account);
    },
  },
  {
    does: 'is told that its budget does not carry a clip, and does not ask again',
    needs: 'film',
    key: { maxBudgetUsd: '0.029' },
    async check({ client, account, ask }) {
      const { calls, refusal } = await ask({ do: 'film', model: CLIPS.model, prompt: 'a cat', seconds: '3' });
      expect(calls.map(({ status }) => status)).toEqual([402]);
      expect(refusal).toMatchObject({ errorName: client.errors.insufficientBalance, status: 402 });
      await expectNotAdmitted(account);
    },
  },
];
