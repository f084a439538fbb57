import { expect, it } from '@jest/globals';
import { listPorts, PORTS_PER_REGION, toStackPorts, withAccountOf } from './stackPorts.ts';

it('gives every listener of a stack its own port, all within a hundred of the first', () => {
  const ports = listPorts(toStackPorts(8080, { simulatedModels: 6, mediaModels: 5 }), {
    kafka: true,
    s3: true,
  }).map(({ port }) => port);

  expect(new Set(ports).size).toBe(ports.length);
  expect(Math.min(...ports)).toBe(8080);
  expect(Math.max(...ports)).toBeLessThan(8180);
});

it('gives both replicas of a model a port, those of one simulator in a row', () => {
  expect(toStackPorts(8080, { simulatedModels: 3, mediaModels: 0 }).engines).toEqual([
    [8110, 8111, 8112],
    [8113, 8114, 8115],
  ]);
});

it('gives a second region ports of its own, but for what all regions share', () => {
  const models = { simulatedModels: 6, mediaModels: 5 };
  const home = toStackPorts(8080, models);
  const further = withAccountOf(home, toStackPorts(8080 + PORTS_PER_REGION, models));
  const [first, second] = [home, further].map((ports) => listPorts(ports, { kafka: true, s3: true }));

  const taken = new Set(first?.map(({ port }) => port));
  expect(second?.filter(({ port }) => taken.has(port)).map(({ part }) => part)).toEqual([
    'control-plane',
    "control-plane's internal listener",
    'identity-provider',
    'mail-catcher',
    "mail-catcher's mail server",
    'payments-simulator',
    "payments-simulator's admin listener",
  ]);
});
