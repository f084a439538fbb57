import { expect, it } from '@jest/globals';
import { toAllowedAttributes } from '@turnpike/telemetry/callSpan';
import type { Candidate, Decision } from './chooseEngine.ts';
import { toDecisionAttributes } from './chooseEngine.ts';

const anEngine = (id: string, fields: Partial<Candidate> = {}): Candidate => ({
  id,
  weight: 1,
  loadTokens: 0,
  cachedTokens: 0,
  ...fields,
});

function aDecision(candidates: Candidate[], chosen: Candidate | undefined = candidates[0]): Decision {
  if (!chosen) throw new Error('nothing to choose');
  return { reason: 'spill', chosen, candidates, promptTokens: 1_000.4 };
}

it('names the chosen engine first, then the others by their scores', () => {
  const chosen = anEngine('chosen', { loadTokens: 10 });
  const candidates = [
    anEngine('busy', { loadTokens: 5_000, cachedTokens: 900.4 }),
    anEngine('half', { weight: 0.5 }),
    chosen,
    anEngine('warm', { cachedTokens: 1_000.4, loadTokens: 1_500.6 }),
  ];
  const attributes = toDecisionAttributes(aDecision(candidates, chosen));

  expect(attributes).toEqual({
    'turnpike.placement': 'spill',
    'turnpike.candidate_count': 4,
    'turnpike.candidates':
      'chosen score=1010 load=10 cached=0, warm score=1501 load=1501 cached=1000, ' +
      'half score=2001 load=0 cached=0, busy score=5100 load=5000 cached=900',
    'turnpike.expected_prompt_tokens': 1_000,
    'turnpike.expected_cached_tokens': 0,
  });
  expect(toAllowedAttributes(attributes)).toEqual(attributes);
});

it('names 16 engines at most, the chosen one among them, and says how many there were', () => {
  const candidates = Array.from({ length: 40 }, (_, index) => anEngine(`engine-${index}`, { loadTokens: index }));
  const attributes = toDecisionAttributes(aDecision(candidates, candidates[39]));

  const named = attributes['turnpike.candidates']?.split(', ').map((text) => text.split(' ')[0]);
  expect(named).toEqual(['engine-39', ...candidates.slice(0, 15).map(({ id }) => id)]);
  expect(attributes['turnpike.candidate_count']).toBe(40);
  expect(toAllowedAttributes(attributes)).toEqual(attributes);
});
