import { join } from 'node:path';
import { repositoryRoot } from './repositoryRoot.ts';

/** Modules are compiled once for all processes of this copy, which takes seconds off every later start of a stack. */
const NODE_COMPILE_CACHE = join(repositoryRoot, '.turnpike', 'compile-cache');

/**
 * The environment every part starts from. Built, not inherited: a variable that happens to be set in a terminal or a test
 * run must not change what a service does. `Observation` lists what is handed on.
 */
export function toPartEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '/', TMPDIR } = process.env;
  return {
    PATH,
    HOME,
    ...(TMPDIR !== undefined && { TMPDIR }),
    NODE_COMPILE_CACHE,
  };
}

/** Variables by which people watch a stack. Its services take them from the environment that starts it. */
const VARIABLES = [
  'LOG_LEVEL',
  'ACCESS_LOG_SAMPLE_RATIO',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'TRACE_SAMPLE_RATIO',
] as const;

/** How much the services of a stack log, and where they send traces. A wrong value is for the services to refuse. */
export type Observation = Partial<Record<(typeof VARIABLES)[number], string>>;

/** Reads them from an environment. An empty variable counts as not set. */
export function readObservation(env: NodeJS.ProcessEnv): Observation {
  return Object.fromEntries(VARIABLES.map((name) => [name, env[name]]).filter(([, value]) => value));
}
