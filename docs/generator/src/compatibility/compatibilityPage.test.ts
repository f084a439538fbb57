import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { toOpenApiDocument } from '../openapi/openApiDocument.ts';
import { auditSdk } from './auditSdk.ts';
import { COMPATIBILITY_FILE, renderCompatibility } from './compatibilityPage.ts';
import { findMembers, findValues, readSdk } from './readSdkTypes.ts';
import { SDK_AUDIT } from './sdkAudit.ts';

it('says what the schemas and the audit of the pinned SDK say; if this fails: npm run docs', async () => {
  expect(await readFile(COMPATIBILITY_FILE, 'utf8')).toBe(renderCompatibility());
});

it('names the pinned version that it was audited against', () => {
  expect(renderCompatibility()).toContain(`npm package \`openai\` ${readSdk().version},`);
});

it.each([
  ['Request', 'model', 'yes'],
  ['Request', 'messages', 'yes'],
  ['Request', 'temperature', 'yes'],
  ['Request', 'top_p', 'yes'],
  ['Request', 'stop', 'yes'],
  ['Request', 'seed', 'yes'],
  ['Request', 'user', 'yes'],
  ['Request', 'max_tokens', 'yes'],
  ['Request', 'stream', 'yes'],
  ['Request', 'stream_options.include_usage', 'yes'],
  ['Request', 'tools', 'yes'],
  ['Request', 'tool_choice', 'yes'],
  ['Request', 'response_format (type: json_object)', 'yes'],
  ['Request', 'response_format (type: json_schema)', 'partial'],
  ['Request', 'presence_penalty', 'yes'],
  ['Request', 'frequency_penalty', 'yes'],
  ['Request', 'logprobs', 'no'],
  ['Request', 'top_logprobs', 'no'],
  ['Request', 'n', 'no'],
  ['Answer', 'id', 'yes'],
  ['Answer', 'created', 'yes'],
  ['Answer', 'model', 'yes'],
  ['Answer', 'choices', 'yes'],
  ['Answer', 'usage', 'yes'],
  ['Answer', 'usage.cache_read_input_tokens', 'yes'],
  ['Answer', 'usage.cache_creation_input_tokens', 'yes'],
  ['Answer', 'system_fingerprint', 'no'],
])('%s of a chat: %s is supported: %s', (part, field, support) => {
  const [chat = ''] = renderCompatibility().split('## POST /v1/completions');
  expect(findRow(chat, part, field)?.[1]).toBe(support);
});

/** The cells of the row that has a field among its own. */
const findRow = (section: string, part: string, field: string): string[] | undefined =>
  section
    .split('### ')
    .find((text) => text.startsWith(part))
    ?.split('\n')
    .map((line) => line.replace(/^\| | \|$/g, '').split(' | '))
    .find(([fields]) => fields?.split(', ').includes(`\`${field}\``));

// Beyond the schemas, by the audit of the SDK.
it.each([
  ['POST /v1/images/generations', 'Request', 'moderation', 'Accepted and not passed to engines.'],
  ['POST /v1/images/generations', 'Request', 'safety_identifier', '422.'],
  ['POST /v1/images/generations', 'Request', 'svg', '422.'],
  ['POST /v1/images/generations', 'Request', 'quality (max)', '422.'],
  ['POST /v1/images/generations', 'Answer', 'data[].revised_prompt', 'In no response.'],
  ['POST /v1/audio/transcriptions', 'Request', 'known_speaker_names', '422.'],
  ['GET /v1/videos/{id}', 'Answer', 'error.misalignment', 'In no response.'],
])('%s, %s: %s is not supported', (operation, part, field, note) => {
  const [, section = ''] = renderCompatibility().split(`## ${operation}\n`);
  expect(findRow(section, part, field)?.slice(1)).toEqual(['no', note]);
});

it('audits only operations that there are', () => {
  const operations = Object.values(toOpenApiDocument().paths).flatMap((methods) => Object.values(methods));
  const ids = operations.map(({ operationId }) => operationId);
  expect(ids).toEqual(expect.arrayContaining(Object.keys(SDK_AUDIT).map((name) => name.split(' ')[0])));
});

const audit = { fields: [{ file: 'a.d.ts', type: 'Params', at: 'body', others: {} }] };
const known = [{ field: 'body.model', support: 'yes' as const, note: '', values: ['a', 'b'] }];
const sdkOf = (members: string[], values: string[] = ['a', 'b']) => ({
  membersOf: () => members,
  valuesOf: () => new Map([['model', values]]),
});

it('fails until a field that an SDK upgrade brings has been judged', () => {
  expect(auditSdk(sdkOf(['model']), audit, known)).toEqual([]);
  expect(() => auditSdk(sdkOf(['model', 'mood']), audit, known)).toThrow('has mood: judge it');
});

it('fails until a value that the SDK or our schema alone allows has been judged', () => {
  expect(() => auditSdk(sdkOf(['model'], ['a', 'b', 'c']), audit, known)).toThrow('has model (c): judge it');
  expect(() => auditSdk(sdkOf(['model'], ['a']), audit, known)).toThrow('has model (b): judge it');
  const no = { support: 'no' as const, note: '422.' };
  const judged = audit.fields.map((each) => ({ ...each, values: { 'model (c)': no } }));
  const rows = auditSdk(sdkOf(['model'], ['a', 'b', 'c']), { fields: judged }, known);
  expect(rows).toEqual([{ field: 'body.model (c)', ...no }]);
  expect(() => auditSdk(sdkOf(['model']), { fields: judged }, known)).toThrow('model (c) is gone');
});

it('fails when what was judged is gone from the SDK', () => {
  const others = { mood: { support: 'no' as const, note: '' } };
  const [fields] = audit.fields.map((each) => ({ ...each, others }));
  expect(() => auditSdk(sdkOf(['model']), { fields: fields ? [fields] : [] }, known)).toThrow('mood is gone');
});

it('reads interfaces in namespaces and unions out of declarations', () => {
  const declarations = `
    export interface Answer { /** {not: a; field: b} */ id: string; map?: { [key: string]: number; }; }
    export declare namespace Answer { interface Choice { text: Array<'a' | 'b'>; kind: 'a' | 'b' | null; other?: 'a' | Form; } }
    export interface Asked<Form extends 'x' | undefined = 'x'> { form?: Form; }
    export type Form = 'none' | Answer.Choice | Array<'x' | 'y'>;`;
  expect(findMembers(declarations, 'Answer')).toEqual(['id', 'map']);
  expect(findMembers(declarations, 'Answer.Choice')).toEqual(['text', 'kind', 'other']);
  expect(findValues(declarations, 'Answer.Choice')).toEqual(new Map([['kind', ['a', 'b']]]));
  expect(findMembers(declarations, 'Form')).toEqual(["'none'", 'Answer.Choice', "Array<'x' | 'y'>"]);
  expect(findMembers(declarations, 'Asked')).toEqual(['form']);
  expect(() => findMembers(declarations, 'Other')).toThrow('declares no Other');
});
