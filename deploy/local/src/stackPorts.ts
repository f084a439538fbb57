/** The services in the order of their ports: two each, the public listener first, then the internal one. */
export const SERVICES = ['edge', 'auth', 'catalog', 'model-router', 'usage-ledger'] as const;
export type ServiceName = (typeof SERVICES)[number];

/** Simulator processes. Each hosts every model, so that a model has two replicas and one can fail. */
export const SIMULATORS = 2;

const POSTGRES = 10;
const REDIS = 11;
const KAFKA = 12;
const KAFKA_CONTROLLER = 13;
const KAFKA_LISTENERS = 14;
const SIMULATOR_ADMINS = 18;
const ENGINES = 20;

/** Where one process of a service listens. */
export interface ServicePorts {
  port: number;
  internalPort: number;
}

export interface StackPorts {
  services: Record<ServiceName, ServicePorts>;
  /** Of the further processes of each service, where there is more than one. */
  replicas: Record<ServiceName, ServicePorts[]>;
  postgres: number;
  redis: number;
  kafka: number;
  kafkaController: number;
  /** The broker has a listener for each client, so that each can be told another way to come. */
  kafkaListeners: Record<'model-router' | 'usage-ledger', number>;
  /** One for each simulator process. */
  simulatorAdmins: number[];
  /** For each simulator process, one for each model. */
  engines: number[][];
  /** One for each tiny engine. */
  tinyEngines: number[];
}

/** Every port of a stack, by its distance from the first one, so that stacks with other first ports live side by side. */
export function toStackPorts(
  portBase: number,
  {
    simulatedModels,
    tinyEngines,
    replicas = 1,
  }: { simulatedModels: number; tinyEngines: number; replicas?: number | undefined },
): StackPorts {
  const listenersFrom = (first: number, service: ServiceName): ServicePorts => {
    const port = first + 2 * SERVICES.indexOf(service);
    return { port, internalPort: port + 1 };
  };
  const listenersOf = (service: ServiceName) => listenersFrom(portBase, service);
  const firstOfReplicas = portBase + ENGINES + SIMULATORS * simulatedModels + tinyEngines;
  const replicasOf = (service: ServiceName) =>
    Array.from({ length: replicas - 1 }, (_, index) =>
      listenersFrom(firstOfReplicas + 2 * SERVICES.length * index, service),
    );
  const simulators = simulatedModels === 0 ? [] : Array.from({ length: SIMULATORS }, (_, simulator) => simulator);
  const portsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);
  return {
    services: {
      edge: listenersOf('edge'),
      auth: listenersOf('auth'),
      catalog: listenersOf('catalog'),
      'model-router': listenersOf('model-router'),
      'usage-ledger': listenersOf('usage-ledger'),
    },
    replicas: {
      edge: replicasOf('edge'),
      auth: replicasOf('auth'),
      catalog: replicasOf('catalog'),
      'model-router': replicasOf('model-router'),
      'usage-ledger': replicasOf('usage-ledger'),
    },
    postgres: portBase + POSTGRES,
    redis: portBase + REDIS,
    kafka: portBase + KAFKA,
    kafkaController: portBase + KAFKA_CONTROLLER,
    kafkaListeners: {
      'model-router': portBase + KAFKA_LISTENERS,
      'usage-ledger': portBase + KAFKA_LISTENERS + 1,
    },
    simulatorAdmins: simulators.map((simulator) => portBase + SIMULATOR_ADMINS + simulator),
    engines: simulators.map((simulator) =>
      portsFrom(portBase + ENGINES + simulator * simulatedModels, simulatedModels),
    ),
    tinyEngines: portsFrom(portBase + ENGINES + SIMULATORS * simulatedModels, tinyEngines),
  };
}

/** What will listen on each port, to name it when it is taken. */
export function listPorts(ports: StackPorts, { kafka }: { kafka: boolean }): { port: number; part: string }[] {
  return [
    ...SERVICES.flatMap((service) =>
      [ports.services[service], ...ports.replicas[service]].flatMap(({ port, internalPort }) => [
        { port, part: service },
        { port: internalPort, part: `${service}'s internal listener` },
      ]),
    ),
    { port: ports.postgres, part: 'postgres' },
    { port: ports.redis, part: 'redis' },
    ...(kafka
      ? [
          { port: ports.kafka, part: 'kafka' },
          { port: ports.kafkaController, part: "kafka's controller" },
          { port: ports.kafkaListeners['model-router'], part: "kafka's listener for model-router" },
          { port: ports.kafkaListeners['usage-ledger'], part: "kafka's listener for usage-ledger" },
        ]
      : []),
    ...ports.simulatorAdmins.map((port) => ({ port, part: "an engine simulator's admin listener" })),
    ...ports.engines.flat().map((port) => ({ port, part: 'a simulated engine' })),
    ...ports.tinyEngines.map((port) => ({ port, part: 'a tiny engine' })),
  ];
}
