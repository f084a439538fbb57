import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { clientKeys, places } from './clientKeys.ts';
import {
  type EngineModels,
  engines,
  findModelKeysAt,
  findRawKeysAt,
  findTopLevelKeys,
  OPERATIONS,
} from './engineModels.ts';
import { findJudgement, judgedKeysOf, TOKENIZE_KEYS } from './judgedKeys.ts';
import { readElsewhere, refusedKeys } from './refusedKeys.ts';

const eachEngine = engines.map((engine): [string, EngineModels] => [engine.engine, engine]);

it('the vLLM whose answers the simulator is held against is among the engines', () => {
  const folder = join(import.meta.dirname, '../../../deploy/engine-simulator/test');
  const held = readdirSync(folder).filter((name) => name.startsWith('vllm-'));
  expect(held).not.toEqual([]);
  expect(held.filter((name) => !existsSync(join(import.meta.dirname, `generated/${name}.json`)))).toEqual([]);
});

describe.each(OPERATIONS)('the request body of %s', (operation) => {
  it.each(eachEngine)('has no key of %s that nobody has judged', (_, engine) => {
    expect(findTopLevelKeys(engine, operation).filter((key) => !findJudgement(operation, key))).toEqual([]);
  });
});

it('every judged key is known to some engine', () => {
  const known = new Set(
    OPERATIONS.flatMap((operation) => engines.flatMap((engine) => findTopLevelKeys(engine, operation))),
  );
  const judged = new Set(OPERATIONS.flatMap(judgedKeysOf));
  expect([...judged].filter((key) => !known.has(key))).toEqual([]);
});

it.each(eachEngine)('every key of a request for counting tokens is known to %s', (_, engine) => {
  const known = findTopLevelKeys(engine, 'tokenize');
  expect(TOKENIZE_KEYS.filter((key) => !known.includes(key))).toEqual([]);
});

/** Every way to a place; roles and part types share one. */
const ways = new Map(places.map((place) => [clientKeys[place].path.join('.'), clientKeys[place].path]));
const keysForClientsAt = (path: string): string[] =>
  places
    .filter((place) => clientKeys[place].path.join('.') === path)
    .flatMap((place) => [...Object.keys(clientKeys[place].keep), ...clientKeys[place].drop]);
const isRefusedAt = (path: string, key: string): boolean => Object.hasOwn(refusedKeys[path] ?? {}, key);

describe.each([...ways])('an object at %s', (path, way) => {
  const isJudged = (key: string) => keysForClientsAt(path).includes(key) || isRefusedAt(path, key);

  it.each(eachEngine)('has no key of %s that nobody has judged', (_, engine) => {
    expect(findModelKeysAt(engine, way).filter((key) => !isJudged(key))).toEqual([]);
  });

  it.each(eachEngine)('has no key that the code of %s reads and nobody has judged', (_, engine) => {
    const read = findRawKeysAt(engine, way).filter((key) => !readElsewhere[path]?.includes(key));
    expect(read.filter((key) => !isJudged(key))).toEqual([]);
  });

  it('has no key that is both for clients and refused', () => {
    expect(keysForClientsAt(path).filter((key) => isRefusedAt(path, key))).toEqual([]);
  });
});
