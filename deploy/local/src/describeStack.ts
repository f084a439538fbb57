import type { Region } from '@turnpike/config/region';
import { forEachOf, GLOBAL_SERVICES, REGION_SERVICES, type ServiceName } from '@turnpike/config/services';
import type { LaunchedParts } from './launchParts.ts';
import type { StackDescription, StackRegion } from './stackFile.ts';
import { type StackSettings, toAccountAddresses, toRedisUrl, toServiceUrls } from './toServiceEnvironments.ts';

/** Settings and parts of a region that runs. */
export interface LaunchedRegion {
  settings: StackSettings;
  launched: LaunchedParts;
}

/** Puts together how a stack that runs is reached. `home` is the region that started what all regions share. */
export function describeStack(home: LaunchedRegion, regions: LaunchedRegion[]): StackDescription<Region> {
  const { ports } = home.settings;
  const { accountOrigin, identityProvider, mailCatcher, payments } = toAccountAddresses(ports);
  const us = regions.find(({ settings }) => settings.region === 'us');
  return {
    port_base: ports.services.edge.port,
    services: forEachOf(GLOBAL_SERVICES, (service) => describeService(service, home)),
    account: {
      origin: accountOrigin,
      identity_provider_url: identityProvider,
      mail_catcher_url: mailCatcher,
      payments_url: payments,
      payments_admin_url: `http://localhost:${ports.payments.adminPort}`,
    },
    legacy_base_url: us ? `http://localhost:${us.settings.ports.services.edge.port}/v1` : null,
    regions: Object.fromEntries(
      regions.map((region) => [region.settings.region, describeRegion(region)]),
    ) as StackDescription<Region>['regions'],
  };
}

function describeRegion(region: LaunchedRegion): StackRegion {
  const { settings, launched } = region;
  const { ports, secrets, kafkaBrokers } = settings;
  return {
    base_url: `${toServiceUrls(ports).edge.url}/v1`,
    api_key: secrets.apiKey,
    console_url: `http://127.0.0.1:${ports.services.edge.consolePort}`,
    services: forEachOf(REGION_SERVICES, (service) => describeService(service, region)),
    engines: launched.engines.flatMap(({ urls, pid }) => urls.map((url) => ({ url, pid }))),
    simulator_admin_urls: launched.engines.flatMap(({ adminUrl }) => (adminUrl === undefined ? [] : [adminUrl])),
    media_backends: (launched.media?.backends ?? []).map(({ id, model, port, adminPort }) => ({
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
}

function describeService(service: ServiceName, { settings, launched }: LaunchedRegion) {
  const { url, internalUrl } = toServiceUrls(settings.ports)[service];
  return { url, internal_url: internalUrl, pid: launched.services[service].pid };
}
