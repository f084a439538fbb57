import type { EngineReport } from '../src/engines/terms/dialect.ts';

/** A report of an engine; empty unless a test says more. */
export const aReport = (fields: Partial<EngineReport> = {}): EngineReport => ({
  atMs: performance.now(),
  running: undefined,
  waiting: undefined,
  cacheUsage: undefined,
  cacheTokens: undefined,
  prefixQueries: undefined,
  prefixHits: undefined,
  isAsleep: false,
  ...fields,
});
