import type { ServerResponse } from 'node:http';
import { afterEach, expect, it } from '@jest/globals';
import { anHttpEngine, type HttpEngine } from '../../../test/anHttpEngine.ts';
import { readVersion } from './readServedModels.ts';

let opened: HttpEngine;
afterEach(() => opened.close());

/** The version of an engine that answers each question as told. */
async function versionOf(answer: (res: ServerResponse) => void, signal = AbortSignal.timeout(20_000)) {
  opened = await anHttpEngine('engine', answer);
  return readVersion(opened.engine.pool, signal);
}

it('reads the release that an engine names', async () => {
  expect(await versionOf((res) => res.end('{"version":"0.19.1"}'))).toBe('0.19.1');
});

it.each(['', 'no JSON', '{"version":7}', '{}'])('knows no release of an engine that answers "%s"', async (text) => {
  expect(await versionOf((res) => res.end(text))).toBeUndefined();
});

it('rejects where the engine does not answer in time, so that it is asked again', async () => {
  await expect(versionOf(() => undefined, AbortSignal.timeout(50))).rejects.toThrow();
});
