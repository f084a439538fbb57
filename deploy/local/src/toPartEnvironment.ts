import { join } from 'node:path';
import { repositoryRoot } from './repositoryRoot.ts';

/** Modules are compiled once for all processes of this copy, which saves seconds at later starts. */
const NODE_COMPILE_CACHE = join(repositoryRoot, '.turnpike', 'compile-cache');

/**
 * Returns the base environment of every part. It is not inherited, because a variable of a terminal or a test run must
 * not change a service. `Observation` lists the exceptions.
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

/** Variables of logs and traces, which services take from the environment of the launcher. */
const VARIABLES = [
  'LOG_LEVEL',
  'ACCESS_LOG_SAMPLE_RATIO',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'TRACE_SAMPLE_RATIO',
] as const;

/** Log level and trace target of a stack's services. The services refuse wrong values. */
export type Observation = Partial<Record<(typeof VARIABLES)[number], string>>;

/** Reads them from an environment. An empty variable counts as not set. */
export function readObservation(env: NodeJS.ProcessEnv): Observation {
  return Object.fromEntries(VARIABLES.map((name) => [name, env[name]]).filter(([, value]) => value));
}
