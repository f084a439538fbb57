import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repositoryRoot.ts';
import { type Counts, compareCounts, countFaults, type LocatedFault } from './compareCounts.ts';
import { findFaultsOfPage, findFaultsOfSource, findSubjectFault } from './findProseFaults.ts';

/** Subjects of commits after this one are checked; those before it are history. */
const FIRST_COMMIT = '77a22963517a28be06ba2226474917bd6394c0bf';
const COUNTS_FILE = join(import.meta.dirname, 'counts.json');
const SOURCES = '{services,libs,deploy,docs,test,bench,dashboard}/**/*.{ts,tsx,mjs}';
const PAGES = ['*.md', '{services,libs,deploy,docs,test,bench,k8s,dashboard}/**/*.md'];
const IGNORED = /^(?:node_modules$|generated$|\.)/;

function readFaults(): LocatedFault[] {
  const exclude = (name: string) => name.split('/').some((part) => IGNORED.test(part));
  const read = (patterns: string | string[], find: typeof findFaultsOfPage): LocatedFault[] =>
    globSync(patterns, { cwd: repositoryRoot, exclude }).flatMap((path) =>
      find(readFileSync(join(repositoryRoot, path), 'utf8')).map((fault) => ({ path, ...fault })),
    );
  return [...read(SOURCES, findFaultsOfSource), ...read(PAGES, findFaultsOfPage)];
}

/** Returns a complaint for each bad subject. Prints a line in place of that without git or the commit to begin at. */
function checkSubjects(): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  let log: string;
  try {
    log = git('log', '--no-merges', '--format=%h %s', `${FIRST_COMMIT}..HEAD`);
  } catch {
    console.log(
      `Subjects of commits are not checked: there is no git, or the clone ends before ${FIRST_COMMIT.slice(0, 9)}.`,
    );
    return [];
  }
  return log.split('\n').flatMap((row) => {
    const [, hash, subject] = /^(\S+) (.*)$/.exec(row) ?? [];
    const fault = subject === undefined ? undefined : findSubjectFault(subject);
    return fault === undefined ? [] : [`commit ${hash} "${subject}" ${fault}: reword it (git rebase -i ${hash}~)`];
  });
}

const faults = readFaults();
const counts = countFaults(faults);
const limits: Counts = JSON.parse(readFileSync(COUNTS_FILE, 'utf8'));
const { risen, fallen } = compareCounts(counts, limits, faults, (path) => statSync(join(repositoryRoot, path)).mtimeMs);
const complaints = [...checkSubjects(), ...risen];
if (complaints.length > 0) {
  console.log(complaints.join('\n'));
  process.exitCode = 1;
} else if (fallen.length > 0) {
  if (process.argv.includes('--fix')) writeFileSync(COUNTS_FILE, `${JSON.stringify(counts, null, 2)}\n`);
  else console.log(`Fewer than counts.json has: ${fallen.join(', ')}. "npm run check -- --fix" writes that down.`);
}
