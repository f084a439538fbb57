import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findIntrusions } from './hostilePartsOracle.ts';
import { type Json, readJson } from './readJson.ts';

const PNG = 'data:image/png;base64,AAAA';
const SALT = 'a'.repeat(43);
const aBody = (fields: string) => `{"model":"m","cache_salt":"${SALT}","max_tokens":2,${fields}}`;
const withParts = (...parts: string[]) => aBody(`"messages":[{"role":"user","content":[${parts.join(',')}]}]`);
const TEXT = '{"type":"text","text":"hi"}';

describe('the oracle of hostile parts', () => {
  it('finds nothing in what the gateway means', () => {
    const image = `{"type":"image_url","image_url":{"url":"${PNG}","detail":"low"}}`;
    expect(findIntrusions(withParts(TEXT, image), 'chat')).toEqual([]);
    const call = '{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}';
    const messages = `{"role":"assistant","content":null,"tool_calls":[${call}],"reasoning":"r"},{"role":"tool","content":"x","tool_call_id":"c"}`;
    const tool =
      '{"type":"function","function":{"name":"f","parameters":{"type":"object","any":[{"key":1}]},"strict":true}}';
    const format = '{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}';
    const rest = `"tools":[${tool}],"tool_choice":"auto","response_format":${format},"top_k":5,"x_unknown":{"a":1}`;
    expect(findIntrusions(aBody(`"messages":[${messages}],${rest}`), 'chat')).toEqual([]);
  });

  it.each([
    [
      'an address beside an image that no reader takes for one',
      withParts(`{"type":"image_url","image_url":{"url":"${PNG}","detail":"bogus"},"video_url":"http://10.0.0.1/"}`),
      'messages[0].content[0].video_url',
    ],
    [
      'an address beside a text',
      withParts('{"type":"text","text":"x","image_url":"http://10.0.0.1/"}'),
      'messages[0].content[0].image_url',
    ],
    [
      'an image that another tenant sent',
      withParts(`{"type":"image_url","image_url":{"url":"${PNG}"},"uuid":"u"}`),
      'messages[0].content[0].uuid',
    ],
    [
      'a key that stands twice',
      withParts(`{"type":"image_url","image_url":{"url":"http://10.0.0.1/","url":"${PNG}"}}`),
      'messages[0].content[0].image_url.url',
    ],
    [
      'a key that stands twice, in other letters',
      withParts(`{"type":"image_url","image_url":{"\\u0075rl":"${PNG}","url":"${PNG}"}}`),
      'messages[0].content[0].image_url.url',
    ],
    [
      'an image that the engine would fetch',
      withParts('{"type":"image_url","image_url":{"url":"https://10.0.0.1/"}}'),
      'messages[0].content[0].image_url.url',
    ],
    [
      'a word that is none of the three',
      withParts(`{"type":"image_url","image_url":{"url":"${PNG}","detail":"bogus"}}`),
      'messages[0].content[0].image_url.detail',
    ],
    ['a part without a type', withParts('{"text":"hi"}'), 'messages[0].content[0]'],
    [
      'a part of another kind',
      withParts('{"type":"input_audio","input_audio":{"data":"AAAA"}}'),
      'messages[0].content[0]',
    ],
    ['a part that is a text', withParts('"http://10.0.0.1/"'), 'messages[0].content[0]'],
    ['a role of another interface', aBody('"messages":[{"role":"root","content":"x"}]'), 'messages[0]'],
    ['tools of one message', aBody('"messages":[{"role":"system","content":"x","tools":[]}]'), 'messages[0].tools'],
    ['messages that stand twice', aBody('"messages":[],"messages":[]'), 'messages'],
    [
      'a key of a schema that stands twice',
      aBody('"tools":[{"type":"function","function":{"name":"f","parameters":{"a":{"b":1,"b":2}}}}]'),
      'tools[0].function.parameters.a.b',
    ],
    ['a structural tag', aBody('"response_format":{"type":"structural_tag","format":{}}'), 'response_format.type'],
    ['a key that nobody may set', aBody('"bootstrap_host":"10.0.0.1"'), 'bootstrap_host'],
    ['a salt that the client wrote', '{"cache_salt":"mine"}', 'cache_salt'],
    ['a variable of the template', aBody('"chat_template_kwargs":{"tools":[]}'), 'chat_template_kwargs.tools'],
  ])('finds %s', (_, text, at) => {
    expect(findIntrusions(text, 'chat')).toContainEqual({ at, what: expect.any(String), isReadable: true });
  });

  it('finds a conversation, an object and a token id in what is to be embedded', () => {
    for (const input of ['[{"role":"user","content":"x"}]', '[{"image":"http://10.0.0.1/"}]', '[1]'])
      expect(findIntrusions(`{"model":"m","input":${input}}`, 'embeddings')).toHaveLength(1);
    expect(findIntrusions('{"model":"m","input":["a","b"]}', 'embeddings')).toEqual([]);
  });

  it('reads JSON as its parser does', () => {
    const toValue = (json: Json): unknown => {
      if (json.kind === 'scalar') return json.value;
      if (json.kind === 'list') return json.items.map(toValue);
      return Object.fromEntries(json.members.map(({ key, value }) => [key, toValue(value)]));
    };
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), fc.constantFrom(0, 1, 3), (json, spaces) => {
        const text = JSON.stringify(JSON.parse(json), null, spaces);
        expect(toValue(readJson(text))).toEqual(JSON.parse(text));
      }),
      { seed: 1 },
    );
  });
});
