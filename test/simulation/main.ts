import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { findMutant } from './findMutant.ts';
import { formatViolation } from './formatViolation.ts';
import { MODEL_USAGE, runModel } from './model/runModel.ts';
import { MUTATIONS } from './mutations.ts';
import { openSimulators } from './openSimulators.ts';
import { simulateSeeds } from './simulateSeeds.ts';

const USAGE = `npm run simulate -- [--seeds N] [--seed FIRST] [--mutation NAME] [--mutations]
  Lives through N seeds (1 with --seed, else 1,000) of the money's protocol with faults, and holds the books against the truth.
  The same seed is the same run. --mutation takes something out of the protocol, which has to be noticed;
  --mutations does so with each in turn, and says which check noticed it:
${Object.keys(MUTATIONS)
  .map((name) => `    ${name}`)
  .join('\n')}

${MODEL_USAGE}`;

const PROGRESS_MS = 1_000;
/** Violations shown with their steps; the others are named. */
const SHOWN = 5;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      seed: { type: 'string' },
      mutation: { type: 'string' },
      mutations: { type: 'boolean' },
      model: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help || (values.mutation !== undefined && !MUTATIONS[values.mutation])) {
    process.stdout.write(`${USAGE}\n`);
    return values.help ? 0 : 1;
  }
  if (values.mutations) return sayMutations();
  const first = Number(values.seed ?? 1);
  const count = Number(values.seeds ?? (values.seed === undefined ? 1_000 : 1));
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count) || first < 0 || count < 1)
    throw new Error('seeds are whole numbers');
  const startedAt = performance.now();
  let [done, violations, letIn, marks, saidAt] = [0, 0, 0, 0, startedAt];
  const say = (): void => {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    process.stdout.write(
      `${done} of ${count} seeds, ${seconds} s: ${letIn} calls, ${marks} Redises, ${violations} violations\n`,
    );
  };
  await simulateSeeds(availableParallelism(), {
    first,
    count,
    ...(values.mutation !== undefined && { mutation: values.mutation }),
    onResult(result) {
      done += 1;
      letIn += result.letIn;
      marks += result.marks;
      if (result.violation !== undefined) {
        violations += 1;
        process.stdout.write(
          `${violations <= SHOWN ? formatViolation(result) : `seed ${result.seed}: ${result.violation}`}\n`,
        );
      }
      if (performance.now() - saidAt > PROGRESS_MS) {
        saidAt = performance.now();
        say();
      }
      return true;
    },
  });
  say();
  return violations === 0 ? 0 : 1;
}

/** Looks for every mutation. */
async function sayMutations(): Promise<number> {
  const simulators = openSimulators(availableParallelism());
  let missed = 0;
  for (const name of Object.keys(MUTATIONS)) {
    const { result, others, seeds } = await findMutant(name, simulators);
    const how = result ? `'${result.check}' in seed ${result.seed}, ${seeds} seeds` : `NOT NOTICED in ${seeds} seeds`;
    process.stdout.write(`${name}: ${how}${others.size > 0 ? `; before it '${[...others].join("', '")}'` : ''}\n`);
    missed += Number(!result);
  }
  simulators.close();
  return missed === 0 ? 0 : 1;
}

const args = process.argv.slice(2);
process.exitCode = args.includes('--model') && !args.includes('--help') ? runModel(args) : await main();
