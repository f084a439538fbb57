import { totalmem } from 'node:os';

/**
 * Patterns of the test files of each run: a file that searches, or repeats another at length, is called `*.deep.test.ts`. A
 * `*.property.test.ts` is of both: it searches for longer in the rest.
 */
const FILES = [
  '<rootDir>/{services,libs,deploy,docs}/*/{src,test}/**/*.test.ts',
  '<rootDir>/test/**/*.test.ts',
  '<rootDir>/dashboard/test/**/*.test.ts',
];
const RUNS = {
  quick: [...FILES, '!**/*.deep.test.ts'],
  rest: FILES.map((pattern) => pattern.replace(/test\.ts$/, '{deep,property}.test.ts')),
  all: FILES,
};

const run = process.env.TURNPIKE_TEST_RUN ?? 'quick';

/** The memory of a worker with its stack. */
const WORKER_BYTES = 2.5 * 1024 ** 3;

/** Tests run from source: TypeScript's types are stripped by swc, modules stay ES modules. */
export default {
  // Not the data of local stacks, which lies in the repository too.
  roots: [
    '<rootDir>/services',
    '<rootDir>/libs',
    '<rootDir>/deploy',
    '<rootDir>/docs',
    '<rootDir>/test',
    '<rootDir>/dashboard/test',
  ],
  testMatch: RUNS[run],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
  },
  // Much of a file's time is a stack's start or a deadline, so four files run at once, also on two cores. Beside six, deadlines pass.
  // A file that searches has a load of its own beside its stack.
  maxWorkers: Math.max(2, Math.min(run === 'quick' ? 4 : 3, Math.floor(totalmem() / WORKER_BYTES))),
  // Starts a worker anew whose heap holds the modules of too many files, because each collection marks all of them.
  workerIdleMemoryLimit: '512MB',
  // A worker's heap is of a gigabyte at the end, and to give that back takes a busy machine over the half second that Jest
  // waits before it ends the worker by force and speaks of a leak. One that leaves something open is still told of.
  workerGracefulExitTimeout: 10_000,
  // Ends a test or hook that hangs, and is the one bound of those that do not search: a stack's start takes minutes on a busy machine.
  // Waits within tests have shorter bounds, and say what they wait for.
  testTimeout: 300_000,
  watchman: false,
  globalSetup: '<rootDir>/test/support/startRun.mjs',
  globalTeardown: '<rootDir>/test/support/stopRun.mjs',
  testSequencer: '<rootDir>/test/support/longestFirst.mjs',
  // The first prints which rows of the API contract held; Jest's own summary stays the last thing printed.
  reporters: ['<rootDir>/test/conformance/summaryReporter.mjs', 'default'],
};
