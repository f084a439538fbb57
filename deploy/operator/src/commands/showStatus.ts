import { forEachOf } from '@turnpike/config/services';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import type { Services } from '../stack/createServices.ts';
import { OPERATED_SERVICES, type ServiceName } from '../stack/findStack.ts';
import type { Health } from '../stack/readHealth.ts';

const COLUMNS = [{ title: 'service' }, { title: 'state' }, { title: 'what it says of itself' }];

/** Facts of a service beside its state, by name; null if unknown. */
type Facts = Record<string, number | null>;

/** The first facts to look at, of each service. */
const FACTS: Partial<Record<ServiceName, (health: Health, services: Services) => Promise<Facts>>> = {
  async catalog(_health, { catalog }) {
    const snapshot = await catalog.getCatalog().catch(() => undefined);
    const live = snapshot?.models.filter(({ state }) => state === 'live').length;
    return { version: snapshot?.version ?? null, live_models: live ?? null };
  },
  async 'model-router'({ metrics }, { router }) {
    const engines = await router.listEngines().then(
      (answer) => answer.engines,
      () => undefined,
    );
    return {
      engines: engines?.length ?? null,
      engines_in: engines?.filter(({ is_healthy: isHealthy }) => isHealthy).length ?? null,
      open_calls: metrics.get('turnpike_open_calls') ?? null,
      spool_bytes: metrics.get('turnpike_spool_bytes') ?? null,
      alerts: metrics.get('turnpike_alerts_total') ?? (metrics.size > 0 ? 0 : null),
    };
  },
  'usage-ledger': async ({ metrics }) => ({
    event_lag_records: metrics.get('turnpike_event_lag_records') ?? null,
    dead_letters: metrics.get('turnpike_ledger_dead_letters') ?? null,
    mismatches: metrics.get('turnpike_ledger_mismatch_total') ?? (metrics.size > 0 ? 0 : null),
  }),
  'media-jobs': async ({ metrics }, { media }) => ({
    overdue_jobs: await media.listOverdueJobs().then(
      ({ jobs }) => jobs.length,
      () => null,
    ),
    spool_bytes: metrics.get('turnpike_spool_bytes') ?? null,
    alerts: metrics.get('turnpike_alerts_total') ?? (metrics.size > 0 ? 0 : null),
  }),
};

export const showStatus = defineCommand({
  words: 'status',
  summary: 'each service as the replica that answers says it is; exit code 1 unless all are ready',
  input: z.object({}),
  async run(_input, { services, readHealth, table }) {
    const found = await Promise.all(
      OPERATED_SERVICES.map(async (service) => {
        const health = await readHealth(service);
        const facts = health.state === 'no_answer' ? {} : await FACTS[service]?.(health, services);
        return { service, health, facts: facts ?? {} };
      }),
    );
    const rows = found.map(({ service, health, facts }) => [service, toStateCell(health), toFactsCell(facts)]);
    return {
      document: {
        services: forEachOf(OPERATED_SERVICES, (service) => {
          const of = found.find((each) => each.service === service);
          return { state: of?.health.state, missing: of?.health.missing, ...of?.facts };
        }),
      },
      text: table(COLUMNS, rows),
      isFailure: found.some(({ health }) => health.state !== 'ready' && health.state !== 'not_named'),
    };
  },
});

function toStateCell({ state, missing }: Health): string {
  const words = state.replaceAll('_', ' ');
  return missing.length > 0 ? `${words}, without: ${missing.join(', ')}` : words;
}

/** `engines 18, engines in 17`. */
const toFactsCell = (facts: Facts): string =>
  Object.entries(facts)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${value ?? '?'}`)
    .join(', ');
