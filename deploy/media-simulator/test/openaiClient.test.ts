import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import OpenAI, { toFile } from 'openai';
import sharp from 'sharp';
import { encodeAudio } from '../src/outputs/encodeAudio.ts';
import { speak } from '../src/outputs/tones.ts';
import type { PersonalityName } from '../src/personalities.ts';
import { decodeSeconds, probeClip, toBuffer } from './support/readMedia.ts';
import { MODEL, startTestReplica, type TestReplica } from './support/testReplica.ts';

let replica: TestReplica;
afterEach(() => replica.close());

async function connect(personality: PersonalityName): Promise<OpenAI> {
  replica = await startTestReplica(personality);
  return new OpenAI({ baseURL: `${replica.url}/v1`, apiKey: 'unused', maxRetries: 0 });
}

describe('the official client', () => {
  it.each(['vllm-omni-2026', 'vllm-omni-early', 'sglang', 'trtllm'] as const)(
    'makes an image with %s',
    async (name) => {
      const client = await connect(name);
      const request = { model: MODEL, prompt: 'a fox', size: '512x512', response_format: 'b64_json' } as const;
      const { data } = await client.images.generate(request);
      const image = sharp(Buffer.from(data?.[0]?.b64_json ?? '', 'base64'));
      expect(await image.metadata()).toMatchObject({ format: 'png', width: 512 });
    },
  );

  // SGLang and TensorRT-LLM take the same form; the first shows another kind of job when it deletes.
  it.each(['vllm-omni-2026', 'vllm-omni-early'] as const)(
    'makes, lists, gets and deletes a video with %s',
    async (name) => {
      const client = await connect(name);
      const { id } = await client.videos.create({ model: MODEL, prompt: 'a fox', seconds: '4', size: '1280x720' });
      await until('the clip', async () => (await client.videos.retrieve(id)).status === 'completed');
      const listed: string[] = [];
      for await (const video of client.videos.list({ limit: 1 })) listed.push(video.id);
      expect(listed).toEqual([id]);
      expect(await probeClip(await toBuffer(await client.videos.downloadContent(id)))).toMatchObject({ frames: 97 });
      expect(await client.videos.delete(id)).toEqual({ id, deleted: true, object: 'video.deleted' });
      await expect(client.videos.retrieve(id)).rejects.toMatchObject({ status: 404 });
    },
  );

  it.each(['sglang', 'trtllm'] as const)('makes a video with %s', async (name) => {
    const client = await connect(name);
    const { id } = await client.videos.create({ model: MODEL, prompt: 'a fox', seconds: '4', size: '1280x720' });
    await until('the clip', async () => (await client.videos.retrieve(id)).status === 'completed');
    expect(await probeClip(await toBuffer(await client.videos.downloadContent(id)))).toMatchObject({ frames: 97 });
  });

  it.each(['kokoro', 'vllm-omni-2026'] as const)('speaks with %s', async (name) => {
    const client = await connect(name);
    const voice = name === 'kokoro' ? 'af_heart' : 'vivian';
    const request = { model: MODEL, voice, input: 'Hello', response_format: 'flac' } as const;
    expect(await decodeSeconds(await toBuffer(await client.audio.speech.create(request)))).toBe(0.54);
  });

  it.each(['vllm-asr', 'speaches'] as const)('hears its own words again from %s', async (name) => {
    const client = await connect(name);
    const pcm = speak('Hello, world', { speed: 1, loudness: 8_000 });
    const recording = await encodeAudio(pcm, 'mp3', { isStreamed: false });
    const file = await toFile(recording, 'hello.mp3');
    expect(await client.audio.transcriptions.create({ model: MODEL, file })).toMatchObject({ text: 'Hello, world' });
    const verbose = { model: MODEL, file, response_format: 'verbose_json' } as const;
    expect((await client.audio.transcriptions.create(verbose)).segments).toMatchObject([{ text: ' Hello, world' }]);
    expect(await client.audio.translations.create({ model: MODEL, file })).toMatchObject({ text: 'Hello, world' });
  });
});
