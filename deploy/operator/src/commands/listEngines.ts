import type { engineSchema } from '@turnpike/internal-api/modelRouter';
import { z } from 'zod';
import { type Context, defineCommand, type Report, reportOrWatch, WATCH } from '../cli/command.ts';
import { toInstantCell } from '../report/amounts.ts';

type EngineRow = z.output<typeof engineSchema>;

const COLUMNS = [
  { title: 'id' },
  { title: 'state' },
  { title: 'calls', isNumber: true },
  { title: 'tokens', isNumber: true },
  { title: 'running', isNumber: true },
  { title: 'waiting', isNumber: true },
  { title: 'model' },
  { title: 'since' },
  { title: 'address' },
  { title: 'weight', isNumber: true },
  { title: 'cache', isNumber: true },
  { title: 'hits', isNumber: true },
  { title: 'window', isNumber: true },
  { title: 'version' },
];

const orDash = (value: string | number | null): string => (value === null ? '-' : String(value));
const toPercent = (share: number | null): string => (share === null ? '-' : `${Math.round(100 * share)} %`);

function toState({ state, reason, is_slow: isSlow }: EngineRow): string {
  if (reason !== null) return `${state}: ${reason}`;
  return isSlow ? `${state}, but slow` : state;
}

const toRow = (engine: EngineRow): string[] => [
  engine.id,
  toState(engine),
  String(engine.open_calls),
  String(Math.round(engine.tokens_in_flight)),
  orDash(engine.running),
  orDash(engine.waiting),
  orDash(engine.model),
  toInstantCell(engine.since),
  engine.url,
  String(engine.weight),
  toPercent(engine.cache_usage),
  toPercent(engine.cache_hit_rate),
  orDash(engine.window_tokens),
  orDash(engine.version),
];

async function report({ services, table }: Context): Promise<Report> {
  const { engines, retries_left: retriesLeft, targets_not_listed: notListed } = await services.router.listEngines();
  const shown = engines.length > 0 ? table(COLUMNS, engines.map(toRow)) : 'There are no engines.';
  const missing = notListed.map(
    ({ id, reason, since }) => `  Target ${id} cannot be listed since ${since}: ${reason}.`,
  );
  return {
    document: { engines, retries_left: retriesLeft, targets_not_listed: notListed },
    text: [shown, ...(engines.length > 0 ? [`  retries left: ${retriesLeft}`] : []), ...missing].join('\n'),
  };
}

export const listEngines = defineCommand({
  words: 'engines',
  summary: 'the engines as the router that answers sees them now',
  options: WATCH,
  input: z.object({ watch: z.boolean().default(false) }),
  run: ({ watch }, context) => reportOrWatch(report, { watch, context }),
});
