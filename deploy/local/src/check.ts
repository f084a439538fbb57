import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repositoryRoot.ts';

/** Folders of source code; git keeps none that is empty. */
const FOLDERS = ['services', 'libs', 'deploy', 'docs', 'test', 'bench', 'dashboard'].filter((name) =>
  existsSync(join(repositoryRoot, name)),
);

/** The steps of `npm run check`, which run side by side: a name for its line, and a command of `node_modules/.bin` with arguments. */
const CHECKS: { name: string; command: string; args: string[] }[] = [
  {
    name: 'types',
    command: 'tsc',
    args: ['--noEmit', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/types.tsbuildinfo'],
  },
  { name: 'types of pages', command: 'tsc', args: ['--noEmit', '-p', 'dashboard'] },
  { name: 'format and lint', command: 'biome', args: ['ci', '--colors=off', '--error-on-warnings', '.'] },
  { name: 'dead code', command: 'knip', args: ['--no-progress', '--no-config-hints'] },
  {
    name: 'import rules',
    command: 'depcruise',
    args: ['--config', '.dependency-cruiser.cjs', ...FOLDERS],
  },
  // Compares each `schema.prisma` with the tables that the service's SQL makes.
  { name: 'schemas', command: 'node', args: ['libs/postgres/test/checkSchemas.ts'] },
  // Takes `--fix`, which writes down the counts that fell.
  { name: 'prose', command: 'node', args: ['deploy/local/src/prose/checkProse.ts', ...process.argv.slice(2)] },
];

const TIMEOUT_MS = 300_000;

interface Outcome {
  name: string;
  isOk: boolean;
  output: string;
  tookMs: number;
}

function runCheck({ name, command, args }: (typeof CHECKS)[number]): Promise<Outcome> {
  const startedAt = performance.now();
  const child = spawn(join(repositoryRoot, 'node_modules/.bin', command), args, {
    cwd: repositoryRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve) => {
    const end = (isOk: boolean) =>
      resolve({ name, isOk, output: output.trimEnd(), tookMs: performance.now() - startedAt });
    child.once('error', (error) => {
      output += error.message;
      end(false);
    });
    child.once('close', (code) => end(code === 0));
  });
}

/** Prints a line for each check as it ends. After all lines, prints the output of failed checks and the advice of `prose`. */
async function main(): Promise<boolean> {
  const outcomes = await Promise.all(
    CHECKS.map(async (check) => {
      const outcome = await runCheck(check);
      const result = outcome.isOk ? 'ok' : 'FAILED';
      process.stdout.write(`${check.name.padEnd(16)} ${result.padEnd(6)} ${(outcome.tookMs / 1000).toFixed(1)} s\n`);
      return outcome;
    }),
  );
  for (const { name, isOk, output } of outcomes) {
    if ((!isOk || name === 'prose') && output !== '') process.stdout.write(`\n${name}:\n${output}\n`);
  }
  return outcomes.every(({ isOk }) => isOk);
}

main().then((isOk) => process.exit(isOk ? 0 : 1));
