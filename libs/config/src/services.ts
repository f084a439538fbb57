/** The facts of a service by which stacks run it and reach it. */
interface ServiceEntry {
  /** Each region has a stack with one of it, or all regions have one together. */
  scope: 'region' | 'global';
  /** The port of each listener in a container: for the edge or browsers, for the fleet, for browsers of one region. */
  listeners: { public: number; internal: number; console?: number };
  /** How settings name it: others reach it at `<settings>_INTERNAL_URL`, the edge at `<settings>_URL`. */
  settings: Uppercase<string>;
  /** The services that it calls: the edge their public listeners, the others their internal ones. */
  calls: readonly string[];
  /** The services behind its console listener, which it calls at their internal ones. */
  consoleCalls?: readonly string[];
  /** The callees without which it is not ready. */
  readyAfter?: readonly string[];
  /** Its Postgres database, and the role it works with. `owner` is the role that migrates it, where that is another. */
  database?: { name: string; owner?: string };
  redis?: true;
  /** Whether it reads or writes the event log. */
  eventLog?: true;
  /** The engines that it calls. */
  engines?: 'text' | 'media';
  /** Whether it keeps objects. */
  objects?: true;
  /** Command-line flags of the process' Node. */
  nodeFlags?: readonly string[];
}

const LISTENERS = { public: 8080, internal: 9090 } as const;

/**
 * The services, in the order of a local stack's ports. The local stack, the operator's command line, manifests, tests and
 * `startService` take them from here.
 */
export const SERVICES = {
  edge: {
    scope: 'region',
    listeners: { ...LISTENERS, console: 8081 },
    settings: 'EDGE',
    calls: ['auth', 'catalog', 'model-router', 'usage-ledger', 'media-jobs'],
    consoleCalls: ['auth', 'catalog', 'usage-ledger', 'media-jobs'],
    redis: true,
  },
  auth: {
    scope: 'region',
    listeners: LISTENERS,
    settings: 'AUTH',
    calls: ['model-router', 'control-plane'],
    database: { name: 'auth' },
  },
  catalog: {
    scope: 'region',
    listeners: LISTENERS,
    settings: 'CATALOG',
    calls: ['auth', 'model-router', 'media-jobs'],
    database: { name: 'catalog' },
    redis: true,
  },
  'model-router': {
    scope: 'region',
    listeners: LISTENERS,
    settings: 'ROUTER',
    calls: ['auth', 'catalog', 'usage-ledger'],
    readyAfter: ['catalog', 'usage-ledger'],
    redis: true,
    eventLog: true,
    engines: 'text',
    // Many streams that begin at once would let V8 grow each half of its young generation to 64 MiB, for good. This
    // flag saves a fifth of the memory of an open stream.
    nodeFlags: ['--max-semi-space-size=16'],
  },
  'usage-ledger': {
    scope: 'region',
    listeners: LISTENERS,
    settings: 'LEDGER',
    calls: ['auth', 'catalog', 'model-router', 'control-plane'],
    database: { name: 'ledger', owner: 'ledger_owner' },
    eventLog: true,
    // V8 frees buffers outside the heap when it collects the young generation. At 64 MiB it does so too seldom, and
    // collects the whole heap every second instead. That took a third of this service's time.
    nodeFlags: ['--max-semi-space-size=16'],
  },
  'media-jobs': {
    scope: 'region',
    listeners: LISTENERS,
    settings: 'MEDIA',
    calls: ['auth', 'catalog', 'usage-ledger'],
    readyAfter: ['catalog', 'usage-ledger'],
    database: { name: 'media' },
    redis: true,
    eventLog: true,
    engines: 'media',
    objects: true,
    // The router's flag, because large bodies come and go here too and few of them are long-lived.
    nodeFlags: ['--max-semi-space-size=16'],
  },
  'control-plane': {
    scope: 'global',
    listeners: LISTENERS,
    settings: 'CONTROL_PLANE',
    calls: [],
    database: { name: 'account', owner: 'account_owner' },
  },
} as const satisfies Record<string, ServiceEntry>;

export type ServiceName = keyof typeof SERVICES;
type With<Part extends keyof ServiceEntry> = {
  [Name in ServiceName]: (typeof SERVICES)[Name] extends Record<Part, unknown> ? Name : never;
}[ServiceName];
/** The services that each region has. */
export type RegionService = {
  [Name in ServiceName]: (typeof SERVICES)[Name]['scope'] extends 'region' ? Name : never;
}[ServiceName];
/** The services that all regions have together. */
export type GlobalService = Exclude<ServiceName, RegionService>;
export type DatabaseService = With<'database'>;
export type EventLogService = With<'eventLog'>;
/** The services of a region with internal routes. The edge has none. */
export type InternalService = Exclude<RegionService, 'edge'>;

export const SERVICE_NAMES = Object.keys(SERVICES) as ServiceName[];
export const REGION_SERVICES = SERVICE_NAMES.filter((name): name is RegionService => SERVICES[name].scope === 'region');
export const GLOBAL_SERVICES = SERVICE_NAMES.filter((name): name is GlobalService => SERVICES[name].scope === 'global');
export const isDatabaseService = (name: ServiceName): name is DatabaseService => 'database' in SERVICES[name];
export const DATABASE_SERVICES = SERVICE_NAMES.filter(isDatabaseService);
/** The databases of a region's services. */
export const REGION_DATABASE_SERVICES = DATABASE_SERVICES.filter(
  (name): name is Exclude<DatabaseService, GlobalService> => SERVICES[name].scope === 'region',
);
export const isEventLogService = (name: ServiceName): name is EventLogService => 'eventLog' in SERVICES[name];
export const EVENT_LOG_SERVICES = SERVICE_NAMES.filter(isEventLogService);
export const INTERNAL_SERVICES = REGION_SERVICES.filter((name): name is InternalService => name !== 'edge');

type Entry = Omit<ServiceEntry, 'calls' | 'consoleCalls' | 'readyAfter'> & {
  calls: readonly (InternalService | GlobalService)[];
  consoleCalls?: readonly InternalService[];
  readyAfter?: readonly InternalService[];
};
/** A service's entry, by the face that all entries have. */
export const entryOf = (name: ServiceName): Entry => SERVICES[name];

/**
 * The turn in which a service stops, the highest first. A service stops before the callees that it needs to be ready. A
 * service without callers stops before all of its callees.
 */
export function layerOf(name: ServiceName): number {
  const { calls, readyAfter = [] } = entryOf(name);
  const isCalled = SERVICE_NAMES.some((other) => entryOf(other).calls.some((callee) => callee === name));
  return 1 + Math.max(0, ...(isCalled ? readyAfter : calls).map(layerOf));
}

/** Something for each of these services, by its name. */
export const forEachOf = <Name extends ServiceName, Value>(
  names: readonly Name[],
  toValue: (name: Name) => Value,
): Record<Name, Value> => Object.fromEntries(names.map((name) => [name, toValue(name)])) as Record<Name, Value>;
