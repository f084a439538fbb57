import { forEachOf, GLOBAL_SERVICES, REGION_SERVICES, type ServiceName } from '@turnpike/config/services';
import type { LaunchedParts } from './launchParts.ts';
import type { StackDescription, StackRegion } from './stackFile.ts';
import { type StackSettings, toAccountAddresses, toRedisUrl, toServiceUrls } from './toServiceEnvironments.ts';

/** Puts together how a stack that runs is reached. */
export function describeStack(settings: StackSettings, { services, engines, media }: LaunchedParts): StackDescription {
  const { ports, secrets, kafkaBrokers } = settings;
  const urls = toServiceUrls(ports);
  const describe = (service: ServiceName) => ({
    url: urls[service].url,
    internal_url: urls[service].internalUrl,
    pid: services[service].pid,
  });
  const us: StackRegion = {
    base_url: `${urls.edge.url}/v1`,
    api_key: secrets.apiKey,
    console_url: `http://127.0.0.1:${ports.services.edge.consolePort}`,
    services: forEachOf(REGION_SERVICES, describe),
    engines: engines.flatMap(({ urls: engineUrls, pid }) => engineUrls.map((url) => ({ url, pid }))),
    simulator_admin_urls: engines.flatMap(({ adminUrl }) => (adminUrl === undefined ? [] : [adminUrl])),
    media_backends: (media?.backends ?? []).map(({ id, model, port, adminPort }) => ({
      id,
      model,
      url: `http://127.0.0.1:${port}`,
      admin_url: `http://127.0.0.1:${adminPort}`,
    })),
    secrets_file: settings.secretsFile,
    postgres_url: `postgresql://turnpike:${secrets.postgresPassword}@127.0.0.1:${ports.postgres}/postgres`,
    redis_url: toRedisUrl(settings),
    kafka_brokers: kafkaBrokers ?? null,
  };
  const { accountOrigin, identityProvider, mailCatcher } = toAccountAddresses(ports);
  return {
    port_base: ports.services.edge.port,
    services: forEachOf(GLOBAL_SERVICES, describe),
    account: { origin: accountOrigin, identity_provider_url: identityProvider, mail_catcher_url: mailCatcher },
    regions: { us },
  };
}
