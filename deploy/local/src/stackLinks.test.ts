import { expect, it } from '@jest/globals';
import { SERVICE_NAMES } from '@turnpike/config/services';
import { listLinks, openLinks, type StackLink } from './stackLinks.ts';
import { toStackPorts } from './stackPorts.ts';

const ports = toStackPorts(10_000, { simulatedModels: 2, mediaModels: 1 });
const describe = ({ from, to }: StackLink): string => `${from} to ${to}`;

it('knows every way by which a service reaches another process', () => {
  const links = listLinks(ports, { services: SERVICE_NAMES, kafka: true, s3: true });
  expect(new Set(links.map(describe))).toEqual(
    new Set([
      ...['redis', 'auth', 'catalog', 'model-router', 'usage-ledger', 'media-jobs'].map((to) => `edge to ${to}`),
      ...['postgres', 'model-router', 'control-plane'].map((to) => `auth to ${to}`),
      ...['postgres', 'redis', 'auth', 'model-router', 'media-jobs'].map((to) => `catalog to ${to}`),
      ...['redis', 'auth', 'catalog', 'usage-ledger', 'kafka', 'engines-1', 'engines-2'].map(
        (to) => `model-router to ${to}`,
      ),
      ...['postgres', 'auth', 'catalog', 'model-router', 'control-plane', 'kafka'].map((to) => `usage-ledger to ${to}`),
      ...['postgres', 'redis', 'auth', 'catalog', 'usage-ledger', 'kafka', 'media', 's3'].map(
        (to) => `media-jobs to ${to}`,
      ),
      'control-plane to postgres',
      'control-plane to mail-catcher',
      'control-plane to payments-simulator',
    ]),
  );
  expect(links.filter(({ to }) => to === 'engines-1').map(({ port }) => port)).toEqual(ports.engines[0]);
});

it('has no link to a broker where there is none', () => {
  expect(listLinks(ports, { services: SERVICE_NAMES, kafka: false, s3: false }).some(({ to }) => to === 'kafka')).toBe(
    false,
  );
});

it('says by which port a service reaches another, one for each that asks', async () => {
  const links = listLinks(ports, { services: SERVICE_NAMES, kafka: false, s3: false });
  const portOf = await openLinks(links, async (link) => 40_000 + links.indexOf(link));
  const ways = links.map(({ from, port }) => portOf(from, port));
  expect(ways).toEqual(links.map((_link, index) => 40_000 + index));
  expect(portOf('auth', ports.redis)).toBe(ports.redis);
});
