import { expect } from '@jest/globals';
import { aPng } from '@turnpike/test-support/anImage';
import { until } from '@turnpike/test-support/until';
import { expectBilled } from '../support/expectBilled.ts';
import { findServed } from '../support/findServed.ts';
import { toNano } from '../support/priceOf.ts';
import { type Message, type Seen, tripSchema } from './order.ts';
import { headersOf, type Step, type StepContext } from './step.ts';

const MODEL = 'llama-3.3-70b-instruct';
const REASONING_MODEL = 'deepseek-r1-0528';
const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
const EMBEDDING_MODEL = 'bge-m3';
const IMAGE_TOKENS = 256;
/** The simulated engines take no time over these answers. */
const AT_ONCE = 'ttft_ms=0 itl_ms=0';

const aQuestion = (text: string): Message[] => [{ role: 'user', text }];
const aUserOf = (messages: Message[]) => messages.map(({ role, text }) => ({ role, content: text }));
const SAYING = 'Déjà vu, 你好 世界, 👩‍👩‍👧‍👦 — voilà!';
const CONVERSATION: Message[] = [
  { role: 'system', text: 'Du bist ein höflicher Übersetzer.' },
  { role: 'user', text: 'Comment dit-on « à bientôt » en japonais ? 😀' },
  { role: 'assistant', text: '「またね」 (mata ne) ✨' },
  { role: 'user', text: `И по-русски? Also in 中文. [[sim: tokens=90 ${AT_ONCE}]]` },
];

/** Asserts that each of the client's calls stands in a row as the client saw it, and that the key paid for these alone. */
async function expectAllBilled(
  { account }: StepContext,
  model: string,
  { calls, usages }: Seen,
  count = 1,
): Promise<void> {
  expect(calls.map(({ status }) => status)).toEqual(Array(count).fill(200));
  expect(usages).toHaveLength(count);
  const rows = await Promise.all(calls.map((call) => account.untilUsage(headersOf(call))));
  const total = rows.reduce((sum, row) => sum + toNano(row.total_spend), 0n);
  for (const [index, row] of rows.entries()) {
    const spentBefore = total - toNano(row.total_spend); // the total minus the other calls, because their order does not matter
    await expectBilled(account, { headers: headersOf(calls[index]), model, usage: usages?.[index], spentBefore });
  }
}

async function checkConversation(context: StepContext, stream: boolean): Promise<void> {
  const { stack, ask } = context;
  const seen = await ask({ do: 'chat', model: MODEL, messages: CONVERSATION, stream, seed: 7 });

  // Equal requests have equal answers: so the client sent what it was told, and shows what came.
  const reference = await fetch(`${stack.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages: aUserOf(CONVERSATION), seed: 7 }),
  });
  const { choices } = (await reference.json()) as { choices: { message: { content: string } }[] };
  expect(seen.text).toBe(choices[0]?.message.content);
  expect(seen.text?.length).toBeGreaterThan(100);
  expect(seen.finishReason).toBe('stop');
  expect(seen.usages?.[0]?.completion_tokens).toBe(90);
  if (stream) expect(seen.pieces).toBeGreaterThan(0);
  await expectAllBilled(context, MODEL, seen);
}

async function checkToolCall(context: StepContext, stream: boolean): Promise<void> {
  const question = `Regnet es? 雨? [[sim: text="Il pleut ☔." ${AT_ONCE}]]`;
  const seen = await context.ask({ do: 'callTool', model: MODEL, question, stream });

  expect(seen.toolCalls).toEqual([{ name: 'forecast', arguments: expect.any(Object) }]);
  tripSchema.parse(seen.toolCalls?.[0]?.arguments);
  expect(seen).toMatchObject({ text: expect.stringContaining('Il pleut ☔.'), finishReason: 'stop' });
  await expectAllBilled(context, MODEL, seen, 2);
}

async function checkReasoning(context: StepContext, stream: boolean): Promise<void> {
  const messages = aQuestion(`[[sim: reasoning="Hm… 考える 🤔" text="Voilà." ${AT_ONCE}]]`);
  const seen = await context.ask({ do: 'chat', model: REASONING_MODEL, messages, stream });

  expect(seen).toMatchObject({ reasoning: 'Hm… 考える 🤔', text: 'Voilà.', finishReason: 'stop' });
  await expectAllBilled(context, REASONING_MODEL, seen);
}

const cosine = (left: number[] = [], right: number[] = []): number => {
  const dot = (a: number[], b: number[]) => a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));
};

/** Steps of calls that are answered and billed. */
export const answerSteps: Step[] = [
  {
    does: 'lists the models that can be called',
    needs: 'listModels',
    async check({ ask }) {
      const { models } = await ask({ do: 'listModels' });
      expect(models).toEqual(expect.arrayContaining([MODEL, REASONING_MODEL, VISION_MODEL, EMBEDDING_MODEL]));
    },
  },
  ...[false, true].flatMap((stream): Step[] => {
    const how = stream ? 'streamed' : 'whole';
    return [
      {
        does: `shows exactly the words of an answer, ${how}`,
        needs: 'chat',
        async check(context) {
          const messages = aQuestion(`[[sim: text="${SAYING}" ${AT_ONCE}]]`);
          const seen = await context.ask({ do: 'chat', model: MODEL, messages, stream });
          expect(seen).toMatchObject({ text: SAYING, finishReason: 'stop' });
          await expectAllBilled(context, MODEL, seen);
        },
      },
      {
        does: `has a conversation of several turns, ${how}`,
        needs: 'chat',
        check: (context) => checkConversation(context, stream),
      },
      {
        does: `calls a tool for the model and gives back what it said, ${how}`,
        needs: 'callTool',
        check: (context) => checkToolCall(context, stream),
      },
      {
        does: `shows what a model thought, ${how}`,
        needs: 'chat',
        check: (context) => checkReasoning(context, stream),
      },
    ];
  }),
  {
    does: 'gets an object that is valid by its schema',
    needs: 'structure',
    async check(context) {
      const seen = await context.ask({ do: 'structure', model: MODEL, question: `Où ? [[sim: ${AT_ONCE}]]` });
      expect(tripSchema.parse(seen.value)).toEqual(seen.value);
      await expectAllBilled(context, MODEL, seen);
    },
  },
  {
    does: 'shows the model an image of its own',
    needs: 'chat',
    async check(context) {
      const imageUrl = `data:image/png;base64,${aPng({ width: 640, height: 480 }).toString('base64')}`;
      const messages: Message[] = [
        { role: 'user', text: `Was ist das? [[sim: text="Un chat." ${AT_ONCE}]]`, imageUrl },
      ];
      const seen = await context.ask({ do: 'chat', model: VISION_MODEL, messages, stream: false });
      expect(seen.text).toBe('Un chat.');
      expect(seen.usages?.[0]?.prompt_tokens).toBeGreaterThan(IMAGE_TOKENS);
      await expectAllBilled(context, VISION_MODEL, seen);
    },
  },
  {
    does: 'is told that the answer was cut at max_tokens',
    needs: 'chat',
    async check(context) {
      const messages = aQuestion(`Erzähle. [[sim: tokens=50 ${AT_ONCE}]]`);
      const seen = await context.ask({ do: 'chat', model: MODEL, messages, stream: false, maxTokens: 9 });
      expect(seen.finishReason).toBe('length');
      expect(seen.usages?.[0]?.completion_tokens).toBe(9);
      await expectAllBilled(context, MODEL, seen);
    },
  },
  ...(['float', 'base64'] as const).map(
    (encoding): Step => ({
      does: `gets the same vectors as anybody, as ${encoding}`,
      needs: encoding === 'base64' ? encoding : 'embed',
      async check(context) {
        const { client, account, stack, ask } = context;
        const texts = ['À bientôt 😀', '天気はどうですか', 'À bientôt 😀'];
        const seen = await ask({ do: 'embed', model: EMBEDDING_MODEL, texts, encoding });

        const reference = await fetch(`${stack.baseUrl}/embeddings`, {
          method: 'POST',
          headers: { authorization: `Bearer ${stack.apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: EMBEDDING_MODEL, input: texts }),
        });
        const { data } = (await reference.json()) as { data: { embedding: number[] }[] };
        const vectors = (seen.vectors ?? []).map((vector) => vector.map(Math.fround));
        expect(vectors).toEqual(data.map(({ embedding }) => embedding.map(Math.fround)));
        expect(cosine(vectors[0], vectors[2])).toBeCloseTo(1, 6);
        expect(cosine(vectors[0], vectors[1])).toBeLessThan(0.9);

        // One that tells nobody what an embedding used is billed all the same.
        const { usages = [await account.untilUsage(headersOf(seen.calls[0]))] } = seen;
        expect(seen.usages === undefined).toBe(client.hides?.includes('embeddingUsage') ?? false);
        const [usage] = usages;
        await expectBilled(account, { headers: headersOf(seen.calls[0]), model: EMBEDDING_MODEL, usage });
        expect(seen.calls).toHaveLength(1);
      },
    }),
  ),
  {
    does: 'stops the model by leaving a stream, and pays for what had come',
    needs: 'chat',
    async check({ stack, account, ask }) {
      const messages = aQuestion('Talk for a long time [[sim: tokens=4000 itl_ms=10]]');
      const seen = await ask({ do: 'chat', model: MODEL, messages, stream: true, leaveAfter: 20 });
      expect(seen).toMatchObject({ calls: [{ status: 200 }] });
      // A client may hand over what it had read before it was told to leave.
      expect(seen.pieces).toBeGreaterThanOrEqual(20);
      expect(seen.pieces).toBeLessThan(4000);

      const headers = headersOf(seen.calls[0]);
      const served = await until('the engine to have stopped', async () => {
        const call = await findServed(stack, headers);
        return call?.state === 'aborted' ? call : undefined;
      });
      const row = await account.untilUsage(headers);
      expect(row.prompt_tokens).toBe(served.promptTokens);
      expect(row.completion_tokens).toBeGreaterThanOrEqual(15);
      expect(row.completion_tokens).toBeLessThanOrEqual(served.completionTokens);
      expect(served.completionTokens).toBeLessThan(4000);
      await expectBilled(account, { headers, model: MODEL, usage: row });
    },
  },
];
