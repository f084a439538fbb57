import { type CallCase, type FuzzCase, KEY } from './fuzzCase.ts';
import { listHostileValues } from './hostileValues.ts';
import { listRawCases } from './rawCase.ts';

/** Places of a value: a field of the gateway's own, one inside it, one of the engine's, and all of them. */
const BODIES: readonly ((value: string) => string)[] = [
  (value) => `{"model":"llama-3.1-8b-instruct","max_tokens":1,"messages":${value}}`,
  (value) => `{"model":"llama-3.1-8b-instruct","max_tokens":1,"messages":[{"role":"user","content":${value}}]}`,
  (value) =>
    `{"model":"llama-3.1-8b-instruct","max_tokens":1,"messages":[{"role":"user","content":"hi"}],"seed":${value}}`,
  (value) =>
    `{"model":"llama-3.1-8b-instruct","max_tokens":1,"messages":[{"role":"user","content":"hi"}],"x":${value}}`,
  (value) => value,
];

const toCall = (body: string): CallCase => ({
  kind: 'call',
  method: 'POST',
  path: '/v1/chat/completions',
  headers: [
    ['authorization', `Bearer ${KEY}`],
    ['content-type', 'application/json'],
  ],
  body: Buffer.from(body),
  chunkBytes: undefined,
});

/** Attacks that are known by name, each once: what chance may leave out. */
export const listKnownCases = (): FuzzCase[] => [
  ...listHostileValues().flatMap((value) => BODIES.map((write) => toCall(write(value)))),
  ...listRawCases(),
];
