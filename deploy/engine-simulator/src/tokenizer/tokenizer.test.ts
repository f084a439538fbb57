import { describe, expect, it } from '@jest/globals';
import { aCharacter } from '@turnpike/test-support/aCharacter';
import fc from 'fast-check';
import { randomTextToken } from '../generation/randomText.ts';
import { IncrementalDecoder } from './incrementalDecoder.ts';
import { renderChat } from './renderChat.ts';
import { decode, encode } from './tokenizer.ts';
import { words } from './vocabulary.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: aCharacter }),
  fc.array(fc.constantFrom(...words, ' ', '  ', '\n', '.', ',')).map((parts) => parts.join('')),
);
const anyKey = fc.record({ low: fc.integer(), high: fc.integer() });

describe('tokenizer', () => {
  it('gives back every text exactly', () => {
    fc.assert(fc.property(anyText, (text) => expect(decode(encode(text))).toBe(text)));
  });

  it('never makes more tokens than UTF-8 bytes', () => {
    fc.assert(fc.property(anyText, (text) => expect(encode(text).length).toBeLessThanOrEqual(Buffer.byteLength(text))));
  });

  it('reads generated text back as the tokens it was made of', () => {
    fc.assert(
      fc.property(anyKey, fc.integer({ min: 0, max: 200 }), (key, count) => {
        const tokens = Array.from({ length: count }, (_, index) => randomTextToken(key, index));
        expect(encode(decode(tokens))).toEqual(tokens);
      }),
    );
  });

  it('shows no half characters when it decodes token by token', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const decoder = new IncrementalDecoder();
        const pieces = encode(text).map((token) => decoder.push(token));
        expect(pieces.join('')).toBe(text);
        for (const piece of pieces) expect(Buffer.from(piece).toString()).toBe(piece);
      }),
    );
  });

  it.each([
    ['café 東京 🚀', 3],
    ['the river.', 3],
    ['unknownword', 4],
    ['', 0],
  ])('cuts %j into %i tokens', (text, count) => expect(encode(text)).toHaveLength(count));
});

describe('chat template', () => {
  const message = fc.record({
    role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const, 'tool' as const),
    parts: fc.array(anyText.map((text) => ({ text }))),
  });

  it('adds four tokens a message and three a request', () => {
    fc.assert(
      fc.property(fc.array(message), (messages) => {
        const texts = messages.flatMap(({ parts }) => parts.map(({ text }) => text));
        const textTokens = texts.reduce((sum, text) => sum + encode(text).length, 0);
        const tokens = renderChat(messages, { tools: undefined, addGenerationPrompt: true });
        expect(tokens).toHaveLength(textTokens + 4 * messages.length + 3);
      }),
    );
  });

  it('counts every image as 256 tokens, different for different images', () => {
    const render = (imageUrl: string) =>
      renderChat([{ role: 'user', parts: [{ imageUrl }] }], {
        tools: undefined,
        addGenerationPrompt: true,
      });
    expect(render('data:image/png;base64,iVBORw0KGgoA')).toHaveLength(256 + 4 + 3);
    expect(render('data:image/png;base64,iVBORw0KGgoA')).not.toEqual(render('data:image/png;base64,iVBORw0KGgoB'));
  });
});
