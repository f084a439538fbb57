/** The variables by which people watch a stack; the services take them from the environment of whoever starts it. */
const VARIABLES = ['LOG_LEVEL', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'TRACE_SAMPLE_RATIO'] as const;

/** How much the services of a stack log, and where they send traces. A wrong value is for the services to refuse. */
export type Observation = Partial<Record<(typeof VARIABLES)[number], string>>;

/** What an environment says about it; a variable that is empty counts as not set. */
export function readObservation(env: NodeJS.ProcessEnv): Observation {
  return Object.fromEntries(VARIABLES.map((name) => [name, env[name]]).filter(([, value]) => value));
}
