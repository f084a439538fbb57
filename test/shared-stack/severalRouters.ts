import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';
import { until } from '@turnpike/test-support/until';
import { Redis } from 'ioredis';
import { NEWS_CHANNEL } from '../../services/model-router/src/placement/routerNews.ts';
import { makeAccount } from '../support/makeAccount.ts';
import { postJson } from '../support/postJson.ts';
import { stack } from './stack.ts';

const MODEL = 'llama-3.3-70b-instruct';
const CONVERSATIONS = 5;

interface Router {
  url: string;
  internalUrl: string;
}

/** Calls that a router has placed, by why; how many other routers it hears; and the model's engines that it gives calls. */
async function askMetrics({ internalUrl }: Router) {
  const samples = [...(await scrapeMetrics(`${internalUrl}/metrics`))];
  const placed = (reason: string): number =>
    samples
      .filter(([name]) => name.startsWith('turnpike_placements_total{') && name.includes(`reason="${reason}"`))
      .reduce((sum, [, value]) => sum + value, 0);
  const heard = samples.find(([name]) => name === 'turnpike_routers_heard')?.[1];
  const ofModel = samples.filter(
    ([name]) => name.startsWith('turnpike_engine_breaker{') && name.includes(`/${MODEL}"`),
  );
  const engines = ofModel.filter(([, breaker]) => breaker === 0).length;
  return { match: placed('match'), rendezvous: placed('rendezvous'), heard, engines };
}

/** Listens to what routers tell each other: what is returned resolves when a message has come behind so many prompts. */
async function countTold() {
  const redis = new Redis(stack.running.stack.regions.us.redis_url);
  let prompts = 0;
  let messages = 0;
  redis.on('smessage', (_channel: string, text: string) => {
    prompts += JSON.parse(text).placed.length;
    messages += 1;
  });
  await redis.ssubscribe(`${NEWS_CHANNEL}:0`);
  return async (wanted: number): Promise<void> => {
    await until('the prompts to be told', () => prompts >= wanted);
    const before = messages;
    await until('another message', () => messages > before);
    redis.disconnect();
  };
}

describe('beside another router', () => {
  /** The stack's own router, and one more. */
  let routers: [Router, Router];
  let stop = async (): Promise<void> => {};
  beforeAll(async () => {
    const { url, internal_url: internalUrl } = stack.running.stack.regions.us.services['model-router'];
    const [port, internalPort] = [await findFreePort(), await findFreePort()];
    const name = 'model-router-other';
    const env = { PORT: String(port), INTERNAL_PORT: String(internalPort), SPOOL_DIR: join(stack.stateDir, name) };
    const part = stack.running.startLike('model-router', { name, env });
    routers = [
      { url, internalUrl },
      { url: `http://127.0.0.1:${port}`, internalUrl: `http://127.0.0.1:${internalPort}` },
    ];
    stop = async () => {
      if (part.pid !== undefined) process.kill(part.pid, 'SIGTERM');
      await until('it to have left', () => part.endedBy());
    };
    const isReady = () => fetch(`http://127.0.0.1:${internalPort}/ready`).then(({ ok }) => ok);
    await until('the other router to be ready', () => isReady().catch(() => false));
  });
  afterAll(() => stop());

  it('lets the next turn of a conversation find what another router’s call has left on an engine', async () => {
    const [one, other] = routers;
    const { apiKey } = await makeAccount(stack);
    async function say(router: Router, messages: object[]): Promise<void> {
      const body = { model: MODEL, messages, max_tokens: 8 };
      const response = await postJson(`${router.url}/v1/chat/completions`, { apiKey, body });
      await response.arrayBuffer();
      expect(response.status).toBe(200);
    }
    // A router is ready before its engines are: one of them alone is no match.
    await until('the other router to hear, and to have both engines', async () => {
      const { heard, engines } = await askMetrics(other);
      return heard === 1 && engines === 2;
    });
    const before = await askMetrics(other);
    const questions = Array.from({ length: CONVERSATIONS }, (_, number) => ({
      role: 'user',
      content: `question ${number} `.repeat(400),
    }));
    const untilTold = await countTold();
    await Promise.all(questions.map((question) => say(one, [question])));
    await untilTold(CONVERSATIONS);
    for (const question of questions)
      await say(other, [question, { role: 'assistant', content: 'Yes.' }, { role: 'user', content: 'And then?' }]);
    const after = await askMetrics(other);
    expect(after.match - before.match).toBe(CONVERSATIONS);
    expect(after.rendezvous).toBe(before.rendezvous);
  });
});
