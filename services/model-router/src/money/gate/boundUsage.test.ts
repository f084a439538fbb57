import { describe, expect, it } from '@jest/globals';
import { aCatalogModel } from '@turnpike/internal-api/aCatalogModel';
import { computeCharge, computeWorstCase } from '@turnpike/money/price';
import { aCharacter } from '@turnpike/test-support/aCharacter';
import fc from 'fast-check';
import { aChatRequest } from '../../../test/aChatRequest.ts';
import { aPricedModel } from '../../../test/aPricedModel.ts';
import { affordableOutputTokens, boundUsage, fitOutput } from './admitCall.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

/** A text of any characters but NUL, which no body may hold. */
const aText = fc.string({ unit: aCharacter, maxLength: 60 }).map((text) => text.replaceAll('\0', ' '));
const PNG = 'data:image/png;base64,iVBORw0KGgo=';

describe('the prompt bound', () => {
  it('is never below one token a UTF-8 byte of what the template shows, plus the template itself', () => {
    const aMessage = fc.record({ role: fc.constantFrom('system', 'user', 'developer'), content: aText });
    fc.assert(
      fc.property(
        fc.array(aMessage, { minLength: 1, maxLength: 5 }),
        fc.option(aText),
        fc.nat(50),
        fc.nat(50),
        (messages, description, perMessage, perRequest) => {
          const tool = { type: 'function', function: { name: 'f', description: description ?? '' } };
          const request = aChatRequest({ messages, ...(description !== null && { tools: [tool] }) });
          const model = aPricedModel({ templateTokensPerMessage: perMessage, templateTokensPerRequest: perRequest });
          const shown = messages.reduce((bytes, { content }) => bytes + Buffer.byteLength(content), 0);
          // Templates print tools as JSON, the generous ones indented.
          const tools = description === null ? 0 : Buffer.byteLength(JSON.stringify([tool], null, 4));
          const tokens = shown + tools + messages.length * perMessage + perRequest;
          expect(boundUsage(request, model).promptTokens).toBeGreaterThanOrEqual(tokens);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('counts an image as the model’s most per image, not as its bytes', () => {
    const image = {
      type: 'image_url',
      image_url: { url: PNG.replace('iVBORw0KGgo', `iVBORw0KGgo${'A'.repeat(100_000)}`) },
    };
    const request = aChatRequest({ messages: [{ role: 'user', content: [image] }] });
    const model = aPricedModel({ inputModalities: ['text', 'image'], maxTokensPerImage: 1_000 });
    expect(boundUsage(request, model).promptTokens).toBeGreaterThanOrEqual(1_000);
    expect(boundUsage(request, model).promptTokens).toBeLessThan(1_500);
  });

  it('counts a text that poses as an image by its bytes', () => {
    const content = `data:image/png;base64,${'A'.repeat(5_000)}`;
    const request = aChatRequest({ messages: [{ role: 'user', content }] });
    expect(boundUsage(request, aPricedModel()).promptTokens).toBeGreaterThanOrEqual(content.length);
  });
});

describe('the output bound', () => {
  const model = aPricedModel({ contextLength: 10_000, maxOutputLength: 4_000 });
  it.each<[string, object, number]>([
    ['2048 on a whole answer', {}, 2_048],
    ['2048 on a whole answer that asks for more', { max_tokens: 3_000 }, 2_048],
    ['what a whole answer asks for', { max_tokens: 100 }, 100],
    ['the model’s longest output on a stream', { stream: true }, 4_000],
    ['the model’s longest output on a stream that asks for more', { stream: true, max_tokens: 9_000 }, 4_000],
    ['max_completion_tokens over max_tokens', { stream: true, max_tokens: 9, max_completion_tokens: 30 }, 30],
  ])('is %s', (_case, fields, outputTokens) => {
    expect(boundUsage(aChatRequest(fields), model).outputTokens).toBe(outputTokens);
  });

  it('is the window where that is shorter than the longest output', () => {
    const small = aPricedModel({ contextLength: 1_000, maxOutputLength: 4_000 });
    expect(boundUsage(aChatRequest({ stream: true }), small).outputTokens).toBe(1_000);
  });

  it('is what an exactly counted prompt leaves of the window, unless the client asked for a length', () => {
    expect(boundUsage(aChatRequest({ stream: true }), model, 9_500).outputTokens).toBe(500);
    expect(boundUsage(aChatRequest({ stream: true }), model, 10_000).outputTokens).toBe(1);
    expect(boundUsage(aChatRequest({ stream: true, max_tokens: 800 }), model, 9_500).outputTokens).toBe(800);
  });
});

it.each<[string, object, boolean]>([
  ['a short prompt beside a short output', { max_tokens: 10 }, false],
  ['a short prompt without a length', {}, false],
  ['a prompt whose bytes may not leave room', { messages: [{ role: 'user', content: 'x'.repeat(9_000) }] }, true],
  [
    'the same, but the client says how much it wants',
    { messages: [{ role: 'user', content: 'x'.repeat(9_000) }], max_tokens: 10 },
    false,
  ],
])('asks the engine to count only when nothing else could tell: %s', async (_case, fields, isNeeded) => {
  const model = aPricedModel({ contextLength: 10_000, maxOutputLength: 4_000 });
  const request = aChatRequest(fields);
  let isAsked = false;
  const count = async () => {
    isAsked = true;
    return undefined;
  };
  const owner = { workspaceId: 'ws_1', keyId: 'key_1' };
  await fitOutput(count, { request, model, owner, bound: boundUsage(request, model) });
  expect(isAsked).toBe(isNeeded);
});

it('estimates the prompt as a quarter of its bytes, or as counted', () => {
  const request = aChatRequest({ messages: [{ role: 'user', content: 'x'.repeat(4_000) }] });
  const { estimatedPromptTokens } = boundUsage(request, aPricedModel());
  expect(estimatedPromptTokens).toBeGreaterThanOrEqual(1_000);
  expect(estimatedPromptTokens).toBeLessThan(1_020);
  expect(boundUsage(request, aPricedModel(), 777).estimatedPromptTokens).toBe(777);
});

describe('for any prices', () => {
  const aPrice = fc.integer({ min: 0, max: 99_999 }).map((digits) => `0.00000${String(digits).padStart(5, '0')}`);
  const aModel = fc
    .record({
      prompt: aPrice,
      completion: aPrice,
      input_cache_read: aPrice,
      request: aPrice,
      contextLength: fc.integer({ min: 200, max: 3_000 }),
    })
    .map(({ contextLength, ...pricing }) =>
      aPricedModel({ contextLength, pricing: { ...aCatalogModel().pricing, ...pricing } }),
    );
  const request = aChatRequest({ max_tokens: 700 });

  it('no usage within the bounds and the window costs more than the hold', () => {
    fc.assert(
      fc.property(aModel, fc.nat(10_000), fc.nat(10_000), fc.nat(10_000), (model, prompt, completion, cached) => {
        const bound = boundUsage(request, model);
        const promptTokens = Math.min(prompt % (bound.promptTokens + 1), model.contextLength);
        const completionTokens = Math.min(completion % (bound.outputTokens + 1), model.contextLength - promptTokens);
        const cachedPromptTokens = cached % (promptTokens + 1);
        const charge = computeCharge({ promptTokens, completionTokens, cachedPromptTokens, images: 0 }, model.prices);
        expect(charge).toBeLessThanOrEqual(bound.worstCaseNanoUsd);
      }),
      { numRuns: 500 },
    );
  });

  it('the affordable output is the largest that the balance carries', () => {
    fc.assert(
      fc.property(aModel, fc.bigInt(-5n, 3_000_000n), (model, available) => {
        const bound = boundUsage(request, model);
        const costOf = (outputTokens: number): bigint =>
          computeWorstCase(
            { promptTokens: bound.promptTokens, outputTokens, windowTokens: model.contextLength, images: 0 },
            model.prices,
          );
        const affordable = affordableOutputTokens(available, bound, request, model);
        if (affordable > 0) expect(costOf(affordable)).toBeLessThanOrEqual(available);
        if (affordable < bound.outputTokens) expect(costOf(affordable + 1)).toBeGreaterThan(available);
        expect(affordable).toBeLessThanOrEqual(bound.outputTokens);
      }),
      { numRuns: 500 },
    );
  });

  it('asked for with max_tokens, the affordable output fits the balance, and one token more does not', () => {
    const costAt = (maxTokens: number, model: Parameters<typeof boundUsage>[1]): bigint =>
      boundUsage(aChatRequest({ max_tokens: maxTokens }), model).worstCaseNanoUsd;
    fc.assert(
      fc.property(aModel, fc.bigInt(-5n, 3_000_000n), (model, available) => {
        const bound = boundUsage(request, model);
        const affordable = affordableOutputTokens(available, bound, request, model);
        if (affordable > 0) expect(costAt(affordable, model)).toBeLessThanOrEqual(available);
        if (affordable < bound.outputTokens) expect(costAt(affordable + 1, model)).toBeGreaterThan(available);
      }),
      { numRuns: 500 },
    );
  });
});
