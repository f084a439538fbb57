import { expect, it } from '@jest/globals';
import { aChatRequest } from '../../test/aChatRequest.ts';
import { COMPLETIONS } from '../request/completionRequest.ts';
import { renderPrefix } from './promptPrefix.ts';

const text = (fields: object): string => renderPrefix(aChatRequest(fields)).beginning.toString();
const image = (url: string) => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] });
const system = { role: 'system', content: 'Be brief' };
const user = { role: 'user', content: 'Hi' };

it('puts tools first, then messages with their parts, as engines render them', () => {
  const tools = [{ type: 'function', function: { name: 'forecast' } }];
  const parts = {
    role: 'user',
    content: [
      { type: 'text', text: 'Where' },
      { type: 'text', text: 'now' },
    ],
  };
  const rendered = text({ messages: [system, parts], tools });
  const places = ['forecast', 'system', 'Be brief', 'user', 'Where', 'now'].map((piece) => rendered.indexOf(piece));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places).not.toContain(-1);
});

it('renders a conversation as the beginning of its next turn', () => {
  const answer = { role: 'assistant', content: 'Hello' };
  expect(text({ messages: [system, user, answer, user] }).startsWith(text({ messages: [system, user] }))).toBe(true);
});

it('does not depend on the order of members or on what an engine does not render', () => {
  const reversed = { content: 'Hi', role: 'user' };
  const format = { type: 'json_object' };
  expect(text({ temperature: 1, response_format: format, messages: [reversed] })).toBe(text({ messages: [user] }));
});

it('tells calls of other tools apart', () => {
  const call = (name: string) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name, arguments: '{}' } }],
  });
  expect(text({ messages: [call('one')] })).not.toBe(text({ messages: [call('two')] }));
});

it('has a digest in an image’s place, the same for the same image, as long as its tokens would be', () => {
  const inline = (filling: string) => `data:image/png;base64,iVBORw0KGgo${filling.repeat(50_000)}`;
  expect(text({ messages: [image(inline('A'))] })).toBe(text({ messages: [image(inline('A'))] }));
  expect(text({ messages: [image(inline('A'))] })).not.toBe(text({ messages: [image(inline('B'))] }));
  expect(text({ messages: [image(inline('A'))] }).length).toBeLessThan(1_200);
});

it('is cut where nothing is hashed any more, and counts the rest', () => {
  const { beginning, bytes } = renderPrefix(
    aChatRequest({ messages: [{ role: 'user', content: 'x'.repeat(3_000_000) }] }),
  );
  expect(beginning.length).toBeLessThan(1_100_000);
  expect(bytes).toBeGreaterThanOrEqual(3_000_000);
});

it('renders of a completion its prompt alone, whatever else the body holds', () => {
  const written = { prompt: 'Once', messages: [null], tools: [null] };
  expect(renderPrefix({ operation: COMPLETIONS, written }).beginning.toString()).toBe('Once');
});
