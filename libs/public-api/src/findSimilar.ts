import { distance } from 'fastest-levenshtein';

const MAX_SUGGESTIONS = 3;
const MAX_COMPARED_LENGTH = 96;

/** The candidates of which a name is close to what was typed, nearest first, three at most. The first name of each is its own. */
export function findSimilar<Candidate>(
  typed: string,
  candidates: readonly Candidate[],
  namesOf: (candidate: Candidate) => readonly [string, ...string[]],
): Candidate[] {
  const compared = typed.slice(0, MAX_COMPARED_LENGTH).toLowerCase();
  return candidates
    .map((candidate) => {
      const names = namesOf(candidate);
      const far = Math.min(...names.map((name) => distance(compared, name.toLowerCase())));
      return { candidate, own: names[0], far };
    })
    .filter(({ own, far }) => far <= Math.max(3, Math.floor(own.length / 3)))
    .sort((a, b) => a.far - b.far || a.own.localeCompare(b.own))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ candidate }) => candidate);
}
