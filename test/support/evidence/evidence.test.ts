import { expect, it } from '@jest/globals';
import { findTexts } from './evidence.ts';

const TEXT = 'canary 漢字 "é"';

async function* only(bytes: Buffer) {
  yield { place: 'here', bytes };
}
const placesOf = async (bytes: Buffer | string): Promise<string[] | undefined> =>
  (await findTexts(only(Buffer.from(bytes)), [TEXT])).get(TEXT);

it.each([
  ['as it is', TEXT],
  ['in hexadecimal, as Postgres shows bytes', `\\x00${Buffer.from(TEXT).toString('hex')}00`],
  ['escaped for a URL', `/v1/models/${encodeURIComponent(TEXT)}?x=1`],
  ['as JSON', JSON.stringify({ prompt: TEXT })],
  ['as JSON of ASCII alone', '"canary \\u6f22\\u5b57 \\"\\u00e9\\""'],
  ['in base64', Buffer.from(`${TEXT} and more`).toString('base64')],
  ['in base64, one byte on', Buffer.from(`1${TEXT} and more`).toString('base64')],
  ['in base64, two bytes on', Buffer.from(`12${TEXT} and more`).toString('base64')],
])('finds a text %s', async (_case, bytes) => {
  expect(await placesOf(bytes)).toEqual(['here']);
});

it('finds nothing where the text is not', async () => {
  expect(await placesOf('canary 漢 字 "é"')).toEqual([]);
});
