import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { formatViolation } from './formatViolation.ts';
import { MODEL_USAGE, runModel } from './model/runModel.ts';
import { MUTATIONS } from './mutations.ts';
import { simulateSeeds } from './simulateSeeds.ts';

const USAGE = `npm run simulate -- [--seeds N] [--seed FIRST] [--mutation NAME]
  Lives through N seeds (1 with --seed, else 1,000) of the money's protocol with faults, and holds the books against the truth.
  The same seed is the same run. --mutation takes something out of the protocol, which has to be noticed:
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
      model: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help || (values.mutation !== undefined && !MUTATIONS[values.mutation])) {
    process.stdout.write(`${USAGE}\n`);
    return values.help ? 0 : 1;
  }
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

const args = process.argv.slice(2);
process.exitCode = args.includes('--model') && !args.includes('--help') ? runModel(args) : await main();
