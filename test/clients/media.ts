import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
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

/** Steps of images, clips and audio. */
export const mediaSteps: Step[] = [
  {
    does: 'gets images as bytes',
    needs: 'draw',
    async check(context) {
      const { images = [] } = await context.ask(aPicture({ count: 2 }));
      expect(images.map(startOf)).toEqual(Array(2).fill(expect.stringMatching(/^\x89PNG/)));
      await untilSpent(context, 2n * IMAGES.nanoUsd);
    },
  },
  {
    does: 'gets images by addresses',
    needs: 'image addresses',
    async check(context) {
      const { images: addresses = [] } = await context.ask(aPicture({ as: 'url' }));
      const headers = { authorization: `Bearer ${context.account.apiKey}` };
      const [image] = await Promise.all(addresses.map((url) => fetch(url, { headers })));
      expect({ status: image?.status, type: image?.headers.get('content-type') }).toEqual({
        status: 200,
        type: 'image/png',
      });
      await untilSpent(context, IMAGES.nanoUsd);
    },
  },
  {
    does: 'waits for a clip, fetches it, finds it in the list and deletes it',
    needs: 'clips',
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
      const hear = (format: 'json' | 'verbose_json' | 'srt') =>
        context.ask({ do: 'hear', model: TRANSCRIPTS.model, audio, format });
      expect(await hear('json')).toMatchObject({ text: SAYING });
      expect(await hear('verbose_json')).toMatchObject({ text: SAYING });
      if (context.client.lacks?.includes('subtitles')) return;
      const subtitles = expect.stringMatching(/^1\n00:00:00,000 --> 00:00:0\d,\d{3}\ntwo small/);
      expect(await hear('srt')).toMatchObject({ text: subtitles });
    },
  },
];
