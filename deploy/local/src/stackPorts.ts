import {
  EVENT_LOG_SERVICES,
  type EventLogService,
  forEachOf,
  GLOBAL_SERVICES,
  SERVICE_NAMES,
  type ServiceName,
} from '@turnpike/config/services';

/** Distance between the first ports of two regions. */
export const PORTS_PER_REGION = 100;
/** Simulator processes. Each hosts every model, so that a model has two replicas and one can fail. */
export const SIMULATORS = 2;
/** Simulated backends of each media model, so that one can fail. One process has them all. */
export const MEDIA_REPLICAS = 2;

/** Services have two each, the public listener first, then the internal one. The rest follows. */
const POSTGRES = 2 * SERVICE_NAMES.length;
const REDIS = POSTGRES + 1;
const KAFKA = POSTGRES + 2;
const KAFKA_CONTROLLER = POSTGRES + 3;
const KAFKA_LISTENERS = POSTGRES + 4;
const S3 = POSTGRES + 7;
const IDENTITY_PROVIDER = POSTGRES + 8;
const MAIL_CATCHER = POSTGRES + 9;
const SIMULATOR_ADMINS = POSTGRES + 11;
const CONSOLE = POSTGRES + 13;
const PAYMENTS = POSTGRES + 14;
const ENGINES = POSTGRES + 16;

/** The listeners of one process of a service. */
export interface ServicePorts {
  port: number;
  internalPort: number;
  /** Listener of the edge for browsers. */
  consolePort?: number;
}

/** The listeners of a simulated media backend. */
export interface MediaPorts {
  port: number;
  adminPort: number;
}

/** The listeners of the mail catcher. */
export interface MailCatcherPorts {
  /** The page and its JSON. */
  port: number;
  smtpPort: number;
}

/** The listeners of the payments simulator. */
export interface PaymentsPorts {
  /** The API and the pages. */
  port: number;
  adminPort: number;
}

export interface StackPorts {
  services: Record<ServiceName, ServicePorts>;
  /** The listeners of the further processes of each service, if there is more than one. */
  replicas: Record<ServiceName, ServicePorts[]>;
  postgres: number;
  redis: number;
  kafka: number;
  kafkaController: number;
  /** The broker has a listener for each client, because each may need another advertised address. */
  kafkaListeners: Record<EventLogService, number>;
  s3: number;
  identityProvider: number;
  mailCatcher: MailCatcherPorts;
  payments: PaymentsPorts;
  /** One for each simulator process. */
  simulatorAdmins: number[];
  /** For each simulator process, one for each model. */
  engines: number[][];
  /** For each media model, its backends. */
  media: MediaPorts[][];
}

/** Every port of a region, by its distance from the first one, so that regions and stacks run side by side. */
export function toStackPorts(
  portBase: number,
  {
    simulatedModels,
    mediaModels,
    replicas = 1,
  }: { simulatedModels: number; mediaModels: number; replicas?: number | undefined },
): StackPorts {
  const listenersFrom = (first: number, service: ServiceName, consolePort: number): ServicePorts => {
    const port = first + 2 * SERVICE_NAMES.indexOf(service);
    return { port, internalPort: port + 1, ...(service === 'edge' && { consolePort }) };
  };
  const firstOfMedia = portBase + ENGINES + SIMULATORS * simulatedModels;
  const firstOfReplicas = firstOfMedia + 2 * MEDIA_REPLICAS * mediaModels;
  const replicasOf = (service: ServiceName) =>
    Array.from({ length: replicas - 1 }, (_, index) => {
      const first = firstOfReplicas + (2 * SERVICE_NAMES.length + 1) * index;
      return listenersFrom(first, service, first + 2 * SERVICE_NAMES.length);
    });
  const simulators = simulatedModels === 0 ? [] : Array.from({ length: SIMULATORS }, (_, simulator) => simulator);
  const mediaFrom = (first: number): MediaPorts[] =>
    Array.from({ length: MEDIA_REPLICAS }, (_, index) => ({
      port: first + 2 * index,
      adminPort: first + 2 * index + 1,
    }));
  const portsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);
  return {
    services: forEachOf(SERVICE_NAMES, (service) => listenersFrom(portBase, service, portBase + CONSOLE)),
    replicas: forEachOf(SERVICE_NAMES, replicasOf),
    postgres: portBase + POSTGRES,
    redis: portBase + REDIS,
    kafka: portBase + KAFKA,
    kafkaController: portBase + KAFKA_CONTROLLER,
    kafkaListeners: forEachOf(
      EVENT_LOG_SERVICES,
      (service) => portBase + KAFKA_LISTENERS + EVENT_LOG_SERVICES.indexOf(service),
    ),
    s3: portBase + S3,
    identityProvider: portBase + IDENTITY_PROVIDER,
    mailCatcher: { port: portBase + MAIL_CATCHER, smtpPort: portBase + MAIL_CATCHER + 1 },
    payments: { port: portBase + PAYMENTS, adminPort: portBase + PAYMENTS + 1 },
    simulatorAdmins: simulators.map((simulator) => portBase + SIMULATOR_ADMINS + simulator),
    engines: simulators.map((simulator) =>
      portsFrom(portBase + ENGINES + simulator * simulatedModels, simulatedModels),
    ),
    media: Array.from({ length: mediaModels }, (_, model) => mediaFrom(firstOfMedia + 2 * MEDIA_REPLICAS * model)),
  };
}

/** The ports of a region that shares the account layer with the one of `home`. */
export const withAccountOf = (home: StackPorts, ports: StackPorts): StackPorts => ({
  ...ports,
  services: { ...ports.services, ...forEachOf(GLOBAL_SERVICES, (service) => home.services[service]) },
  replicas: { ...ports.replicas, ...forEachOf(GLOBAL_SERVICES, (service) => home.replicas[service]) },
  identityProvider: home.identityProvider,
  mailCatcher: home.mailCatcher,
  payments: home.payments,
});

/** Names the future listener of each port, for the error about a port in use. */
export function listPorts(
  ports: StackPorts,
  { kafka, s3 }: { kafka: boolean; s3: boolean },
): { port: number; part: string }[] {
  return [
    ...SERVICE_NAMES.flatMap((service) =>
      [ports.services[service], ...ports.replicas[service]].flatMap(({ port, internalPort, consolePort }) => [
        { port, part: service },
        { port: internalPort, part: `${service}'s internal listener` },
        ...(consolePort === undefined ? [] : [{ port: consolePort, part: `${service}'s console listener` }]),
      ]),
    ),
    { port: ports.postgres, part: 'postgres' },
    { port: ports.redis, part: 'redis' },
    ...(kafka
      ? [
          { port: ports.kafka, part: 'kafka' },
          { port: ports.kafkaController, part: "kafka's controller" },
          ...EVENT_LOG_SERVICES.map((service) => ({
            port: ports.kafkaListeners[service],
            part: `kafka's listener for ${service}`,
          })),
        ]
      : []),
    ...(s3 ? [{ port: ports.s3, part: 's3' }] : []),
    { port: ports.identityProvider, part: 'identity-provider' },
    { port: ports.mailCatcher.port, part: 'mail-catcher' },
    { port: ports.mailCatcher.smtpPort, part: "mail-catcher's mail server" },
    { port: ports.payments.port, part: 'payments-simulator' },
    { port: ports.payments.adminPort, part: "payments-simulator's admin listener" },
    ...ports.simulatorAdmins.map((port) => ({ port, part: "an engine simulator's admin listener" })),
    ...ports.engines.flat().map((port) => ({ port, part: 'a simulated engine' })),
    ...ports.media.flat().flatMap(({ port, adminPort }) => [
      { port, part: 'a simulated media backend' },
      { port: adminPort, part: "a simulated media backend's admin listener" },
    ]),
  ];
}
