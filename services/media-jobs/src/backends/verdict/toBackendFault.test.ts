import { describe, expect, it } from '@jest/globals';
import type { Begins } from '../exchange/askBackend.ts';
import { readEngineError } from './readEngineError.ts';
import { toBackendFault } from './toBackendFault.ts';

const verdictOn = (status: number, body: unknown, begins: Begins = 'work') =>
  toBackendFault(status, readEngineError(JSON.stringify(body)), { begins, retryAfterMs: undefined });

describe('what an engine says', () => {
  it.each([
    ['a list', 422, { detail: [{ loc: ['body', 'size'], msg: 'wrong', input: 'CANARY' }] }, 'size'],
    ['an envelope', 400, { error: { message: 'wrong', param: 'voice' } }, 'voice'],
    ['a flat error', 400, { object: 'error', message: 'wrong', param: 'body.seconds' }, 'seconds'],
    ['a sentence', 400, { detail: "Invalid voice 'nobody'" }, 'voice'],
    ['a sentence within', 400, { detail: { error: 'validation_error', message: "Voice 'x' not found." } }, 'voice'],
    ...(
      [
        ['Invalid or corrupted audio data. Ensure the input is a valid audio or video file', null, 'file'],
        ['Audio exceeds maximum allowed duration of 600s (metadata reports 620.0s).', null, 'file'],
        ['Audio would allocate 262 MiB of PCM (~4300.0s at 16000Hz x 1ch)', null, 'file'],
        ["Unsupported language: 'xx'.  Must be one of ['af'", null, 'language'],
      ] as const
    ).map(([message, param, name]): [string, number, unknown, string] => [
      `vLLM's "${message}"`,
      400,
      { error: { message, type: 'BadRequestError', param, code: 400 } },
      name,
    ]),
    ['a field that no client knows', 400, { error: { message: 'wrong', param: 'num_frames' } }, undefined],
    ['a sentence that repeats the request', 400, { detail: "Cannot draw 'Voice 'x''" }, undefined],
    ['nothing', 400, '', undefined],
  ])('of a field: %s', (_case, status, body, param) => {
    const fault = verdictOn(status, body);
    expect({ kind: fault.kind, param: fault.param }).toEqual({ kind: 'refused_request', param });
    expect(JSON.stringify([fault, String(fault.cause)])).not.toContain('CANARY');
  });

  it.each([
    ['Model mismatch: request specifies a', 400, 'misconfigured'],
    ['Unsupported model: a', 400, 'misconfigured'],
    // A prompt must not take a replica out.
    ["Cannot draw 'Model mismatch: '", 400, 'refused_request'],
    ['The prompt was rejected by the safety checker', 400, 'content_refused'],
    ['a', 413, 'refused_request'],
    ['a', 415, 'refused_request'],
    ['a', 401, 'misconfigured'],
    ['a', 403, 'misconfigured'],
    ['a', 404, 'misconfigured'],
    ['a', 429, 'busy'],
    ['a', 503, 'busy'],
    ['a', 500, 'failed'],
    ['a', 502, 'failed'],
    ['a', 302, 'failed'],
  ])('%s, with status %s of work, is %s', (detail, status, kind) => {
    expect(verdictOn(status, { detail }).kind).toBe(kind);
  });

  it.each([
    [500, 'failed'],
    [502, 'answer_lost'],
    [504, 'answer_lost'],
    [404, 'misconfigured'],
  ])('status %s of a new job is %s', (status, kind) => {
    expect(verdictOn(status, {}, 'job').kind).toBe(kind);
  });

  it.each([
    [500, 'unreachable'],
    [400, 'unreachable'],
    [404, 'unreachable'],
    [429, 'busy'],
    [401, 'misconfigured'],
  ])('status %s of a look is %s', (status, kind) => {
    expect(verdictOn(status, {}, 'nothing').kind).toBe(kind);
  });
});
