import { type ModelOptions, parseModelOptions, WrongOption } from './parseModelOptions.ts';
import { FAULT_KINDS, FAULT_PAIRS, type Protocol } from './protocol.ts';
import { NOT_NEEDED, RULES, type Rule, VARIANT_RULES, VARIANTS } from './rules.ts';
import { type SearchResult, search } from './search.ts';

const describe = (rules: Record<string, string>): string =>
  Object.entries(rules)
    .map(([name, what]) => `    ${name.padEnd(15)}${what}`)
    .join('\n');

export const MODEL_USAGE = `npm run simulate -- --model [options]
  Searches every order of steps of the balances' protocol (test/simulation/model/README.md), for every pair of faults in turn.
    --kinds ${FAULT_KINDS.join(',')}
                     one search with these kinds of faults together instead
    --faults N       at most so many of them (2)
    --calls N, --charges 0,2, --credit 4
                     so many calls (1), what they may cost, what there is at first; a hold is 2
    --credits        the ledger gives 1 and takes 1 on the way
    --absorbs N      so many routers may have an absorb under way (1); --split: reading and asking are two of its steps
    --without RULE   without a rule, or several; ends with a shortest trace to a broken invariant. 'each': every rule in turn
                     (TIMELINE wants --credits)
    --and RULE       with one that turned out not to be needed
    --variants NAME  what is done otherwise than the protocol says; several, or all
    --safety         nothing that has to hold only once faults have ended
    --strict         without the stated exceptions
    --most-states N  ends a search that has found so many (40000000)
  Ends with 1 where an invariant is broken with all rules, or none is without one of them.
  Rules:
${describe(RULES)}
  What may be done otherwise, and what that stands on:
${describe(VARIANTS)}
${describe(VARIANT_RULES)}
  Not needed:
${describe(NOT_NEEDED)}`;

const PROGRESS_MS = 5_000;

/** Answers with the exit code. */
export function runModel(args: string[]): number {
  try {
    const options = parseModelOptions(args);
    if (options.without === 'each') return searchWithoutEach(options);
    return options.without.length > 0 ? searchWithout(options, options.without) : searchAll(options);
  } catch (error) {
    if (!(error instanceof WrongOption)) throw error;
    process.stderr.write(`${error.message}\n(npm run simulate -- --help says what there is)\n`);
    return 1;
  }
}

/** Those that the options ask for, one after another. */
function* searches({ protocol, kinds, mostStates }: ModelOptions): Generator<{ name: string; result: SearchResult }> {
  for (const each of kinds ? [kinds] : FAULT_PAIRS) {
    const name = each.join(' + ') || 'no faults';
    yield { name, result: searchAndSay(name, { ...protocol, kinds: each }, mostStates) };
  }
}

function searchAndSay(name: string, protocol: Protocol, mostStates: number): SearchResult {
  let saidAt = performance.now();
  return search(protocol, {
    mostStates,
    onProgress({ found, checked, depth }) {
      if (performance.now() - saidAt < PROGRESS_MS) return;
      saidAt = performance.now();
      process.stdout.write(`  ${name}: ${found} states found, ${checked} checked, depth ${depth}\n`);
    },
  });
}

function searchAll(options: ModelOptions): number {
  let broken = 0;
  for (const { name, result } of searches(options)) {
    if (result.broken) broken += 1;
    process.stdout.write(`${name}: ${format(result)}`);
  }
  return broken === 0 ? 0 : 1;
}

function searchWithout(options: ModelOptions, rules: readonly Rule[]): number {
  let shortest: SearchResult | undefined;
  for (const { result } of searches(options))
    if (result.broken && (!shortest || result.trace.length < shortest.trace.length)) shortest = result;
  process.stdout.write(`without ${rules.join(', ')}: ${shortest ? format(shortest) : 'no invariant is broken\n'}`);
  return shortest ? 0 : 1;
}

function searchWithoutEach(options: ModelOptions): number {
  const codes = (Object.keys(RULES) as (keyof typeof RULES)[]).map((rule) =>
    searchWithout(
      { ...options, protocol: { ...options.protocol, rules: { ...options.protocol.rules, [rule]: false } } },
      [rule],
    ),
  );
  return Math.max(...codes);
}

function format({ states, depth, isComplete, broken, trace }: SearchResult): string {
  const size = `${states} states, depth ${depth}`;
  if (!broken) return `${size}${isComplete ? '' : ', stopped there'}: no invariant is broken\n`;
  const steps = trace.map((label, at) => `  ${at + 1}. ${label}\n`).join('');
  return `${size}: ${broken.what} (${broken.invariant})\n${steps}`;
}
