import type { ServiceName } from '@turnpike/config/services';
import pg from 'pg';
import { type TroubledDisk, troubleDisk } from '../disk/troubleDisk.ts';
import { disturb, type Fault, freeze, kill } from '../fault.ts';
import { refuseWrites } from '../stack/failingStore.ts';
import type { LinkChoice } from '../stack/links.ts';
import type { TroubledPart } from './trouble.ts';

const NO_LISTENER = 'no answer: nothing listens there';
const SILENT = 'no answer: silent for 4 s';
const BOUNDED = 'it keeps nothing, and what it takes into memory is bounded: calls above that get 503';

function ofService(part: ServiceName, { alert, full }: { alert: string; full: string }): TroubledPart {
  return {
    part: `\`${part}\``,
    dead: { fault: kill(part), named: [part, NO_LISTENER], code: 1, alert },
    hung: { fault: freeze(part), named: [part, SILENT], code: 1, alert },
    full,
  };
}

const ofRegion = (part: ServiceName, full: string): TroubledPart => ofService(part, { alert: 'ServiceDown', full });

const IN_POSTGRES = 'its store is Postgres';
const ITS_SPOOL = 'the disk of its spool, below';

/** A link that is cut: open connections are reset, and new ones refused. */
const refuse = (link: LinkChoice): Fault => ({
  ...disturb(link, { refuse: true }),
  async strike({ stack: { links } }) {
    await links.become(link, { refuse: true });
    links.reset(link);
  },
});

const POSTGRES_AWAY = {
  named: ['usage-ledger', 'not ready, without: postgres'],
  code: 1,
  alert: 'PostgresAway',
} as const;

/** No role of a service gets a connection, as where all of Postgres' are taken. */
const takeConnections: Fault = {
  async strike({ stack: { postgresUrl } }) {
    await limitConnections(postgresUrl, 0);
  },
  async repair({ stack: { postgresUrl } }) {
    await limitConnections(postgresUrl, -1);
  },
};

async function limitConnections(url: string, limit: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const roles = await client.query<{ name: string }>(
      'SELECT rolname AS name FROM pg_roles WHERE rolcanlogin AND NOT rolsuper',
    );
    for (const { name } of roles.rows)
      await client.query(`ALTER ROLE ${client.escapeIdentifier(name)} CONNECTION LIMIT ${limit}`);
    if (limit !== 0) return;
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ANY($1)', [
      roles.rows.map(({ name }) => name),
    ]);
  } finally {
    await client.end();
  }
}

const NO_REDIS = { named: ['model-router', 'balances in Redis: no Redis answers as a primary'], code: 1 } as const;
const fillRedis: Fault = {
  strike: async ({ stack }) => void (await stack.redis.config('SET', 'maxmemory', '1')),
  repair: async ({ stack }) => void (await stack.redis.config('SET', 'maxmemory', '0')),
};

const NO_LOG = {
  named: ['usage-ledger', 'the event log does not answer'],
  code: 1,
  alert: 'EventLogAway',
} as const;
const NO_OBJECTS = {
  named: ['media-jobs', 'the object store gives no answer of use'],
  code: 3,
  alert: 'MediaStoreAway',
} as const;

const TO_OBJECTS: LinkChoice = { from: 'media-jobs', to: 's3' };
/** The store answers and refuses writes, while clients go on ordering clips. */
const fillObjects: Fault = {
  async strike(context) {
    const { links, stopLater } = context.stack;
    const full = await refuseWrites(links.targetOf(TO_OBJECTS));
    stopLater(() => full.close());
    links.redirect(TO_OBJECTS, full.port);
    links.reset(TO_OBJECTS);
    context.startMedia({ kinds: ['video'], calls: 40, perSecond: 2 });
  },
  async repair({ stack: { links } }) {
    links.redirect(TO_OBJECTS, links.targetOf(TO_OBJECTS));
    links.reset(TO_OBJECTS);
  },
};

/** The log of what an engine served ends with its process, so it is read first. */
const killEngine: Fault = {
  ...kill('engines-1'),
  async strike(context) {
    await context.stack.simulators[0]?.prepareKill();
    await kill('engines-1').strike(context);
  },
};

/** Every engine, of two processes. */
const ENGINES = ['engines-1', 'engines-2'];
const ONE_ENGINE = {
  named: ['model-router', 'is out: unreachable'],
  code: 3,
  alert: 'EngineLeftOut',
} as const;
const MISSED = 'did not answer its last check';
const NO_BACKEND = {
  named: ['media-jobs', 'no backend takes work of any model'],
  code: 1,
  alert: 'MediaModelWithoutBackend',
} as const;

const all = (faults: readonly Fault[]): Fault => ({
  strike: async (context) => void (await Promise.all(faults.map((fault) => fault.strike(context)))),
  repair: async (context) => void (await Promise.all(faults.map((fault) => fault.repair(context)))),
});

const HUNG_MS = 600_000;
let disk: TroubledDisk;

/** The disk's trouble is seen by what a call writes. */
const trouble = (strike: () => Promise<void>): Fault => ({
  async strike(context) {
    await strike();
    context.startLoad({ calls: 3, tokens: [1, 3] });
  },
  repair: () => disk.recover(),
});

const refusesWrites = (error: 'EIO' | 'ENOSPC') =>
  ({
    fault: trouble(() => disk.fail(error)),
    named: ['model-router', `the spool's disk: refuses writes: ${error}`],
    code: 1,
    alert: 'SpoolDiskRefuses',
  }) as const;

/** All parts, by the names of their cells. */
export const ROWS: Record<string, TroubledPart> = {
  edge: ofRegion('edge', BOUNDED),
  auth: ofRegion('auth', IN_POSTGRES),
  catalog: ofRegion('catalog', IN_POSTGRES),
  router: ofRegion('model-router', ITS_SPOOL),
  ledger: ofRegion('usage-ledger', IN_POSTGRES),
  media: ofRegion('media-jobs', `${ITS_SPOOL}; uploads that fill theirs get 503, and MediaUploadsFull tells of it`),
  'control-plane': ofService('control-plane', { alert: 'ControlPlaneDown', full: IN_POSTGRES }),
  disk: {
    part: 'disk of a spool',
    async prepare(context) {
      disk = await troubleDisk(context, 'model-router', 'spool');
    },
    dead: refusesWrites('EIO'),
    hung: {
      fault: trouble(() => disk.slowDown(HUNG_MS)),
      named: ['model-router', "the spool's disk: hangs"],
      code: 1,
      alert: 'SpoolDiskHangs',
    },
    full: refusesWrites('ENOSPC'),
  },
  redis: {
    part: 'Redis',
    dead: { fault: kill('redis'), ...NO_REDIS, alert: 'GateClosed' },
    hung: { fault: freeze('redis'), ...NO_REDIS, alert: 'GateClosed' },
    full: {
      fault: fillRedis,
      named: ['model-router', 'balances in Redis: Redis is full'],
      code: 1,
      alert: 'RedisFills',
    },
  },
  postgres: {
    part: 'Postgres of a region',
    dead: { fault: kill('postgres'), ...POSTGRES_AWAY },
    hung: { fault: freeze('postgres'), ...POSTGRES_AWAY },
    full: { fault: takeConnections, ...POSTGRES_AWAY },
  },
  'account-postgres': {
    part: 'Postgres of the account layer',
    dead: {
      fault: refuse({ from: 'control-plane', to: 'postgres' }),
      named: ['control-plane', 'not ready, without: postgres'],
      code: 1,
      alert: 'AccountPostgresAway',
    },
    hung: {
      fault: disturb({ from: 'control-plane', to: 'postgres' }, { blackHole: true }),
      named: ['control-plane', 'not ready, without: postgres'],
      code: 1,
      alert: 'AccountPostgresAway',
    },
    full: 'as one that is dead',
  },
  log: {
    part: 'Kafka',
    dead: { fault: kill('kafka'), ...NO_LOG },
    hung: { fault: freeze('kafka'), ...NO_LOG },
    full: 'a broker whose disk is full ends',
  },
  objects: {
    part: 'object store',
    dead: { fault: kill('s3proxy'), ...NO_OBJECTS },
    hung: { fault: freeze('s3proxy'), ...NO_OBJECTS },
    full: {
      fault: fillObjects,
      named: ['media-jobs', 'the object store refuses writes'],
      code: 3,
      alert: 'MediaStoreAway',
    },
  },
  engine: {
    part: 'one engine of several',
    dead: { fault: killEngine, ...ONE_ENGINE },
    hung: { fault: freeze('engines-1'), ...ONE_ENGINE, named: ['model-router', MISSED] },
    full: 'calls wait, or go to others',
  },
  engines: {
    part: 'all engines',
    dead: {
      fault: refuse({ to: 'engines' }),
      named: ['model-router', 'no engine takes calls of any model'],
      code: 1,
      alert: 'ModelNotServed',
    },
    // A router leaves no model without engines on a suspicion.
    hung: {
      fault: all(ENGINES.map((part) => freeze(part))),
      named: ['model-router', MISSED],
      code: 3,
      alert: 'ModelNotServed',
    },
    full: 'calls wait, then get 503 with `Retry-After`: CallsTurnedAway',
  },
  backends: {
    part: 'media backends',
    dead: { fault: kill('media-simulators'), ...NO_BACKEND },
    hung: { fault: freeze('media-simulators'), ...NO_BACKEND, named: ['media-jobs', MISSED], code: 3 },
    full: 'jobs wait: MediaQueueOld',
  },
};
