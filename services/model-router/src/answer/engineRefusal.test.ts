import { expect, it } from '@jest/globals';
import { vllm } from '../engines/vllm/vllm.ts';
import { EngineRefusal } from './engineRefusal.ts';

const AN_ERROR = '{"error":{"message":"No such thing.","param":"stop","code":400}}';

it.each<[string, number, string, object]>([
  ['a status of its own', 400, AN_ERROR, { kind: 'engine_refused', message: 'No such thing.', param: 'stop' }],
  ['200 with an error that has a status', 200, AN_ERROR, { kind: 'engine_refused', param: 'stop' }],
  ['200 with an error that has none', 200, '{"error":{"message":"m"}}', { kind: 'engine_failed' }],
  ['200 with HTML', 200, '<html>"code": 400</html>', { kind: 'engine_failed' }],
  ['200 with a stream under a wrong type', 200, 'data: {"error":{"code": 400}}\n\n', { kind: 'engine_failed' }],
  [
    '200 with an answer that speaks of codes',
    200,
    '{"choices":[{"text":"{\\"code\\": 400}"}]}',
    { kind: 'engine_failed' },
  ],
  ['a failure without a body', 500, '', { kind: 'engine_failed' }],
])('knows what %s means', (_case, status, text, fault) => {
  const refusal = new EngineRefusal(status);
  // However its bytes arrive.
  for (const byte of Buffer.from(text)) expect(refusal.push(Buffer.of(byte))).toBe(true);
  expect(refusal.toFault(vllm, { cacheSalt: 'salt' })).toMatchObject(fault);
});

it('reads no more than 64 KiB', () => {
  const refusal = new EngineRefusal(500);
  expect(refusal.push(Buffer.alloc(65_536))).toBe(true);
  expect(refusal.push(Buffer.alloc(1))).toBe(false);
});
