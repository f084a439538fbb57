import { expect, it } from '@jest/globals';
import type { PricedModel } from '../catalog/catalog.ts';
import type { Engine } from './engine.ts';
import { listFleetWarnings } from './listFleetWarnings.ts';

type AnEngine = Pick<Engine, 'id' | 'isHealthy'> & {
  health: Pick<Engine['health'], 'isLastResort' | 'hasMissedCheck' | 'state'>;
};
const anEngine = (id: string, { isHealthy = true, isLastResort = false, hasMissedCheck = false } = {}): AnEngine => ({
  id,
  isHealthy,
  health: { isLastResort, hasMissedCheck, state: isHealthy ? 'in' : 'out' },
});

function warn(engines: AnEngine[]): string[] {
  const model = { id: 'm', state: 'live', inputModalities: ['text'], outputModalities: ['text'] };
  const catalog = { current: { models: [model as unknown as PricedModel] } as never };
  const found = engines as unknown as Engine[];
  const registry = {
    findEngines: () => found,
    list: () => found,
    listTargetFaults: () => [],
    fileFault: () => undefined,
  };
  return listFleetWarnings({ engines: registry, catalog }).map(
    ({ kind, subject, text }) => `${kind} ${subject}: ${text}`,
  );
}

it.each<[string, AnEngine[], string[]]>([
  ['has one that takes calls', [anEngine('a', { isHealthy: false }), anEngine('b')], []],
  ['has none', [], ['model_without_engine m: m is sold and has no engine']],
  [
    'has none that takes calls',
    [anEngine('a', { isHealthy: false })],
    ['model_without_engine m: no engine of m takes calls'],
  ],
  [
    'has one that is kept because it is the last',
    [anEngine('a', { isHealthy: false }), anEngine('b', { isLastResort: true })],
    ['model_without_engine m: no engine of m produces tokens: b is kept as the last one, and has its calls'],
  ],
  [
    'has one that did not answer its last check, beside one that is out',
    [anEngine('a', { isHealthy: false, hasMissedCheck: true }), anEngine('b', { hasMissedCheck: true })],
    ['engine_silent b: engine b did not answer its last check'],
  ],
])('names a model that is sold and %s', async (_state, engines, warnings) => {
  expect(warn(engines)).toEqual(warnings);
});
