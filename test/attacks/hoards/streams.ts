import { type ClientRequest, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';
import { until } from '@turnpike/test-support/until';
import { listRunning } from '../../support/listRunning.ts';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { stack, WAITING } from './stack.ts';

// One key sends more long streams than a model's engines can run. It once took all capacity, and calls of other keys timed out in the
// queue.

const MODEL = 'llama-3.1-8b-instruct';
const STREAMS = 300;
/** The most streams of one key alone: three quarters of the capacity of a model's engines. */
const PART = 48;
/** The same of what the router thinks they carry after it has tried twice. */
const MOST = PART * 1.25 ** 2;
const CHATS = 48;
const CHATS_AT_ONCE = 4;
const LOOK_EVERY_MS = 100;
/**
 * Longest time, as a share of all looks, for which calls may wait on every engine. Without the bound it is 19 to 23 %, in one piece. On a busy
 * machine all pieces together came to 15 % in one run.
 */
const MOST_FULL = 0.17;
/** Tokens that the caches of a model's two engines hold together. */
const CACHE_TOKENS = 2 * 262_144;
const SLOW = { tokens: 8_000, betweenMs: 250 };
/** Streams of which a key's share comes to one and a half times the caches. */
const QUICK = { tokens: 16_000, betweenMs: 1 };

/** The attacker's requests. */
const sent: ClientRequest[] = [];
const routerMetrics = () =>
  scrapeMetrics(`${stack.running.stack.regions.us.services['model-router'].internal_url}/metrics`);
const queued = async () => (await routerMetrics()).get(`turnpike_queued_calls{model="${MODEL}"}`) ?? 0;
const chat = (content: string, fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content }],
  ...fields,
});

/** Opens a stream that no test lives to see the end of; `onRefusal` gets the body of an answer that is none. */
function openStream(
  { apiKey }: Account,
  { tokens, betweenMs, isRead }: { tokens: number; betweenMs: number; isRead: boolean },
  onRefusal: (body: string) => void,
): void {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const stream = request(`${stack.baseUrl}/chat/completions`, { method: 'POST', agent: false, headers }, (answer) => {
    answer.on('error', () => {});
    if (answer.statusCode === 200) {
      if (isRead) answer.resume();
      return;
    }
    void Array.fromAsync(answer.setEncoding('utf8')).then((parts) => onRefusal(parts.join('')));
  });
  // Its end is ours, or what the test finds missing.
  stream.on('error', () => {});
  const prompt = `Go on. [[sim: tokens=${tokens} itl_ms=${betweenMs}]]`;
  stream.end(JSON.stringify(chat(prompt, { stream: true, max_tokens: tokens })));
  sent.push(stream);
}

/** Tokens that each engine has made, and calls that it has under way. */
async function readEngines(): Promise<{ made: number; running: number; waiting: number }[]> {
  const { engines } = stack.running.stack.regions.us;
  const pages = await Promise.all(engines.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
  return pages.map((page) => {
    const read = (name: string) => Number(page.match(new RegExp(`^vllm:${name}\\{.* (\\S+)$`, 'm'))?.[1] ?? 0);
    return {
      made: read('generation_tokens_total'),
      running: read('num_requests_running'),
      waiting: read('num_requests_waiting'),
    };
  });
}

const countMade = async () => (await readEngines()).reduce((sum, { made }) => sum + made, 0);

/** Sends chats that take their engine half a second each. Returns what the refused ones say. */
async function sendChats(account: Account, count: number): Promise<string[]> {
  const refusals: string[] = [];
  const chats = async (): Promise<void> => {
    for (let sent = 0; sent < count / CHATS_AT_ONCE; sent += 1) {
      const answer = await account.post('/chat/completions', chat('Hi [[sim: tokens=26 itl_ms=20]]'));
      const body = await answer.text();
      if (answer.status !== 200) refusals.push(`${answer.status} ${body}`);
    }
  };
  await Promise.all(Array.from({ length: CHATS_AT_ONCE }, chats));
  return refusals;
}

describe('streams', () => {
  afterEach(async () => {
    for (const stream of sent.splice(0)) stream.destroy();
    await until('the engines to be free again', async () => (await listRunning(stack)).flat().length === 0);
  });

  it.each([
    ['reads none of them', false],
    ['reads them all', true],
  ])(
    'one key that opens 300 long streams and %s gets three quarters of the room, and no call of another waits or is refused',
    async (_case, isRead) => {
      const [attacker, other] = await Promise.all([makeAccount(stack), makeAccount(stack)]);
      // A workspace whose balances have yet to be loaded would wait for more than its turn.
      expect((await other.post('/chat/completions', chat('Hi [[sim: tokens=3]]'))).status).toBe(200);
      const waitsBefore = (await routerMetrics()).get(`turnpike_queue_seconds_count{model="${MODEL}"}`) ?? 0;
      const refusals: string[] = [];
      for (let count = 0; count < STREAMS; count += 1)
        openStream(attacker, { ...SLOW, isRead }, (body) => refusals.push(body));
      await until('every stream to run, to wait or to be refused', async () => {
        const running = (await listRunning(stack)).flat().length;
        return running + (await queued()) + refusals.length === STREAMS;
      });

      const statuses: number[] = [];
      const chats = async (): Promise<void> => {
        for (let count = 0; count < CHATS / CHATS_AT_ONCE; count += 1) {
          const answer = await other.post('/chat/completions', chat('Hi [[sim: tokens=3]]'));
          await answer.text();
          statuses.push(answer.status);
        }
      };
      await Promise.all(Array.from({ length: CHATS_AT_ONCE }, chats));

      expect(statuses).toEqual(Array.from({ length: CHATS }, () => 200));
      // No placed call waited, except calls of the attacking key during the router's own probes of more capacity.
      // Each probe adds a quarter. Those calls are on the engines a moment later.
      const { running, metrics } = await until('none to have waited but those that came in by a trial', async () => {
        const metrics = await routerMetrics();
        const waited = (metrics.get(`turnpike_queue_seconds_count{model="${MODEL}"}`) ?? 0) - waitsBefore;
        const running = (await listRunning(stack)).flat().length;
        return waited <= running - PART && { running, metrics };
      });
      expect(running).toBeGreaterThanOrEqual(PART);
      expect(running).toBeLessThanOrEqual(MOST);
      expect(refusals.length).toBeGreaterThanOrEqual(STREAMS - running - WAITING);
      for (const body of refusals)
        expect(JSON.parse(body).error).toMatchObject({
          code: 'service_unavailable',
          message: expect.stringContaining('as many calls under way on this model as one key may have'),
        });
      const hits = [...metrics].filter(([name]) => /^turnpike_key_bounds_total\{bound="streams",key="key_/.test(name));
      expect(hits.map(([, count]) => count)).toContain(refusals.length);
    },
  );

  it('one key that opens 300 quick streams, whose tokens the caches do not hold, and reads none leaves others an engine', async () => {
    const [attacker, other] = await Promise.all([makeAccount(stack), makeAccount(stack)]);
    await sendChats(other, CHATS_AT_ONCE);
    const madeBefore = await countMade();
    for (let count = 0; count < STREAMS; count += 1) openStream(attacker, { ...QUICK, isRead: false }, () => undefined);
    await until(
      'the engines to have made more than their caches hold',
      async () => (await countMade()) - madeBefore > 1.1 * CACHE_TOKENS,
      120_000,
    );
    // Chats of another key wait where calls wait on every engine that the streams are on.
    let looks = 0;
    let inARow = 0;
    let longest = 0;
    let isOver = false;
    const look = async (): Promise<void> => {
      while (!isOver) {
        const busy = (await readEngines()).filter(({ running }) => running > 0);
        looks += 1;
        inARow = busy.length > 1 && busy.every(({ waiting }) => waiting > 0) ? inARow + 1 : 0;
        longest = Math.max(longest, inARow);
        await pause(LOOK_EVERY_MS);
      }
    };
    const looking = look();
    const refused = await sendChats(other, CHATS).finally(() => {
      isOver = true;
    });
    await looking;
    expect(refused).toEqual([]);
    expect(longest).toBeLessThanOrEqual(looks * MOST_FULL);
  });
});
