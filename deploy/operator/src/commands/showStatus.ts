import { forEachOf } from '@turnpike/config/services';
import { InternalCallError } from '@turnpike/internal-api/transport/createClient';
import { type Context, defineCommand } from '../cli/command.ts';
import type { Services } from '../stack/createServices.ts';
import { OPERATED_SERVICES } from '../stack/findStack.ts';
import { type Health, LOOK_TIMEOUT_MS } from '../stack/readHealth.ts';

/** The services that are looked at, the public door first. */
const LOOKED_AT = ['edge', ...OPERATED_SERVICES] as const;
type LookedAt = (typeof LOOKED_AT)[number];

const COLUMNS = [
  { title: 'service' },
  { title: 'state' },
  { title: 'address' },
  { title: 'build' },
  { title: 'what it says of itself' },
];
const MAX_SHOWN = 20;
/** Shares of a spool: the alert SpoolFills goes by the first, and from the second on calls are refused. */
const SPOOL_FILLS = 0.5;
const SPOOL_IS_FULL = 0.9;
/** Bounds each question beside those of `readHealth`. */
const IN_TIME = { timeoutMs: LOOK_TIMEOUT_MS };

/** Facts of a service beside its state, by name; null if unknown. */
type Facts = Record<string, number | null>;

interface Finding {
  facts: Facts;
  /** Sentences about what does not work. */
  problems: string[];
  /** Sentences about what wants a look while all works. */
  looks: string[];
}

const UNNAMED: Finding = { facts: {}, problems: [], looks: [] };

const NOT_ACCEPTED =
  'does not accept the operator’s token: see whether INTERNAL_SIGNING_KEY is that of this stack, and the clocks agree';

const EVENT_LOG_AWAY = 'the event log does not answer: calls go on while spools have room, and nothing is recorded';

/** Thrown in place of a refusal of the operator's token. */
class TokenRefused extends Error {}

/** Returns the answer of a call; undefined without one. Throws `TokenRefused` if the service does not accept the token. */
async function ask<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    const failure = error instanceof InternalCallError ? error.failure : undefined;
    if (failure?.kind === 'refused' && failure.status === 401) throw new TokenRefused();
    return undefined;
  }
}

const measured = ({ metrics }: Health, name: string): number | null => {
  const value = metrics.get(name);
  return value === undefined || Number.isNaN(value) ? null : value;
};
/** The value of a counter, which has no series before its first count. */
const counted = (health: Health, name: string): number | null =>
  measured(health, name) ?? (health.metrics.size > 0 ? 0 : null);

function spoolOf(health: Health): Finding {
  const bytes = measured(health, 'turnpike_spool_bytes');
  const limit = measured(health, 'turnpike_spool_limit_bytes');
  const share = bytes === null || limit === null ? 0 : bytes / limit;
  const percent = `${Math.floor(share * 100)} %`;
  return {
    facts: { spool_bytes: bytes, spool_limit_bytes: limit },
    problems: share > SPOOL_IS_FULL ? [`its spool is full (${percent}), so calls get 503: ${UNRECORDED}`] : [],
    looks: share > SPOOL_FILLS && share <= SPOOL_IS_FULL ? [`its spool is ${percent} full: ${UNRECORDED}`] : [],
  };
}
const UNRECORDED = 'the event log takes no events, or the ledger records none';

/** Counts what serves models, and tells whether something should and nothing does. */
function countLive(live: { models: Record<string, { engines: number; healthy: number }> } | undefined) {
  const models = Object.values(live?.models ?? {});
  const sum = (name: 'engines' | 'healthy'): number | null =>
    live ? models.reduce((total, model) => total + model[name], 0) : null;
  return { all: sum('engines'), ready: sum('healthy'), isNone: models.length > 0 && sum('healthy') === 0 };
}

type FindOut = (reading: Promise<Health>, services: Services, context: Context) => Promise<Finding>;

/** The first facts to look at, of each service. */
const FINDINGS: Record<LookedAt, FindOut> = {
  async edge(_reading, _services, { callEdge }) {
    const call = await callEdge();
    if (!call) return UNNAMED;
    const facts = { status_of_a_call: call.status, milliseconds: call.milliseconds };
    return { facts, problems: call.problem === undefined ? [] : [call.problem], looks: [] };
  },
  async auth(_reading, { auth }) {
    await ask(auth.findKeys({ params: { last_four: '0000' }, ...IN_TIME }));
    return UNNAMED;
  },
  async catalog(_reading, { catalog }) {
    const snapshot = await ask(catalog.getCatalog(IN_TIME));
    const live = snapshot?.models.filter(({ state }) => state === 'live').length;
    return { ...UNNAMED, facts: { version: snapshot?.version ?? null, live_models: live ?? null } };
  },
  async 'model-router'(reading, { router }) {
    const [health, listed, live] = await Promise.all([
      reading,
      ask(router.listEngines(IN_TIME)),
      ask(router.getLiveModels(IN_TIME)),
    ]);
    const spool = spoolOf(health);
    const engines = listed?.engines;
    const out = engines?.filter(({ state }) => state === 'out') ?? [];
    return {
      facts: {
        engines: engines?.length ?? null,
        engines_in: engines?.filter(({ is_healthy: isHealthy }) => isHealthy).length ?? null,
        open_calls: measured(health, 'turnpike_open_calls'),
        ...spool.facts,
        alerts: counted(health, 'turnpike_alerts_total'),
      },
      problems: [...(countLive(live).isNone ? ['no engine takes calls of any model'] : []), ...spool.problems],
      looks: [
        ...out.map(({ id, reason, since }) => `engine ${id} is out: ${reason ?? 'not said why'}, since ${since}`),
        ...spool.looks,
      ],
    };
  },
  async 'usage-ledger'(reading, { ledger }) {
    const [health] = await Promise.all([reading, ask(ledger.getRecovery(IN_TIME))]);
    const deadLetters = measured(health, 'turnpike_ledger_dead_letters');
    const lag = measured(health, 'turnpike_event_lag_records');
    return {
      facts: {
        event_lag_records: lag,
        dead_letters: deadLetters,
        mismatches: counted(health, 'turnpike_ledger_mismatch_total'),
      },
      // A ledger without Postgres knows no lag and no dead letters either.
      problems: lag === null && deadLetters !== null ? [EVENT_LOG_AWAY] : [],
      looks: deadLetters ? [`${deadLetters} dead letters wait: "turnpike dead-letters list"`] : [],
    };
  },
  async 'media-jobs'(reading, { media }) {
    const [health, overdue, live] = await Promise.all([
      reading,
      ask(media.listOverdueJobs(IN_TIME)),
      ask(media.getLiveModels(IN_TIME)),
    ]);
    const spool = spoolOf(health);
    const backends = countLive(live);
    const jobs = overdue?.jobs.length ?? null;
    return {
      facts: {
        backends: backends.all,
        backends_in: backends.ready,
        overdue_jobs: jobs,
        ...spool.facts,
        alerts: counted(health, 'turnpike_alerts_total'),
      },
      problems: [...(backends.isNone ? ['no backend takes work of any model'] : []), ...spool.problems],
      looks: [...(jobs ? [`${jobs} jobs are overdue: "turnpike media overdue"`] : []), ...spool.looks],
    };
  },
  'control-plane': async () => UNNAMED,
};

/** Looks at a service. Never rejects but for a mistake of this program. */
async function lookAt(service: LookedAt, context: Context) {
  const reading = context.readHealth(service);
  // All at once, as each may take its whole time where something is silent.
  const finding = findOut(service, reading, context);
  const health = await reading;
  const { facts, problems, looks } = await finding;
  if (health.state === 'no_answer' || health.state === 'not_named') return { service, health, ...UNNAMED };
  return { service, health, facts, problems, looks: [...health.warnings, ...looks] };
}

async function findOut(service: LookedAt, reading: Promise<Health>, context: Context): Promise<Finding> {
  try {
    return await FINDINGS[service](reading, context.services, context);
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    return { ...UNNAMED, problems: [NOT_ACCEPTED] };
  }
}

export const showStatus = defineCommand({
  words: 'status',
  summary:
    'each service as the replica that answers says it is, and a call through the edge; exit code 1 unless all work, else 3 if something wants a look',
  async run(_input, context) {
    const found = await Promise.all(LOOKED_AT.map((service) => lookAt(service, context)));
    const rows = found.map(({ service, health, facts }) => [
      service,
      toStateCell(health),
      context.addressOf(service) ?? '-',
      health.build ?? '-',
      toFactsCell(facts),
    ]);
    const problems = found.flatMap(({ service, problems: of }) => of.map((problem) => `${service}: ${problem}`));
    const looks = found.flatMap(({ service, looks: of }) => of.map((look) => `${service}: ${look}`));
    const isFailure =
      problems.length > 0 || found.some(({ health: { state } }) => state !== 'ready' && state !== 'not_named');
    return {
      document: {
        services: forEachOf(LOOKED_AT, (service) => {
          const of = found.find((each) => each.service === service);
          const { state, missing, since, build } = of?.health ?? {};
          return { state, missing, since, build, problems: of?.problems, looks: of?.looks, ...of?.facts };
        }),
      },
      text: [context.table(COLUMNS, rows), ...toList('Does not work', problems), ...toList('Wants a look', looks)].join(
        '\n',
      ),
      isFailure,
      wantsLook: looks.length > 0,
    };
  },
});

/** Lines below the table, the longest list cut. */
function toList(title: string, sentences: string[]): string[] {
  if (sentences.length === 0) return [];
  const left = sentences.length - MAX_SHOWN;
  const shown = sentences.slice(0, MAX_SHOWN).map((sentence) => `    ${sentence}.`);
  return ['', `  ${title}:`, ...shown, ...(left > 0 ? [`    And ${left} more: --json has them all.`] : [])];
}

function toStateCell({ state, missing, since, silence }: Health): string {
  const words = state.replaceAll('_', ' ');
  if (silence !== undefined) return `${words}: ${silence}`;
  const lacks = missing.length > 0 ? `, without: ${missing.join(', ')}` : '';
  return `${words}${lacks}${since === undefined ? '' : `, since ${since}`}`;
}

/** `engines 18, engines in 17`. */
const toFactsCell = (facts: Facts): string =>
  Object.entries(facts)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${value ?? '?'}`)
    .join(', ');
