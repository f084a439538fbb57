import { MAX_CANDIDATES, type SpanAttributes } from '@turnpike/telemetry/callSpan';
import { type Candidate, type Decision, tokensAhead } from './chooseEngine.ts';

/**
 * Returns the attributes of a span that explain why a call went to its engine. Of the candidates it names the chosen one first, then those with the
 * best scores, 16 at most; all figures are tokens.
 */
export function toDecisionAttributes({ reason, chosen, candidates, promptTokens }: Decision): SpanAttributes {
  const others = candidates
    .filter((candidate) => candidate !== chosen)
    .sort((a, b) => tokensAhead(a, promptTokens) - tokensAhead(b, promptTokens));
  return {
    'turnpike.placement': reason,
    'turnpike.candidate_count': candidates.length,
    'turnpike.candidates': [chosen, ...others.slice(0, MAX_CANDIDATES - 1)]
      .map((candidate) => toText(candidate, promptTokens))
      .join(', '),
    'turnpike.expected_prompt_tokens': Math.round(promptTokens),
    'turnpike.expected_cached_tokens': Math.round(chosen.cachedTokens),
  };
}

const toText = (candidate: Candidate, promptTokens: number): string => {
  const { id, loadTokens, cachedTokens } = candidate;
  const score = tokensAhead(candidate, promptTokens);
  return `${id} score=${Math.round(score)} load=${Math.round(loadTokens)} cached=${Math.round(cachedTokens)}`;
};
