import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { authApi } from './auth.ts';
import { catalogApi } from './catalog.ts';
import { pricingSchema } from './catalogSnapshot.ts';
import type { InternalRoute } from './internalApi.ts';
import { modelRouterApi } from './modelRouter.ts';
import { usageLedgerApi } from './usageLedger.ts';

// Services of two versions talk to each other while they are replaced, and either side may be the older one.

const routes: [string, InternalRoute][] = [authApi, catalogApi, modelRouterApi, usageLedgerApi].flatMap(
  ({ service, routes: ofService }) =>
    Object.entries<InternalRoute>(ofService).map(([name, route]): [string, InternalRoute] => [
      `${service}: ${name}`,
      route,
    ]),
);

/** Lists the places of a schema at which an unknown field is refused. */
function strictPlaces(schema: z.ZodType | undefined): string[] {
  if (!schema) return [];
  const places: string[] = [];
  z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema, path }) => {
      // Prices are exempt, because a price that a caller does not know must not become nothing.
      if (jsonSchema.additionalProperties === false && zodSchema !== pricingSchema) places.push(path.join('.'));
    },
  });
  return places;
}

it.each(routes)('a new field of the answer breaks no older caller of %s', (_name, { answer }) => {
  expect(strictPlaces(answer)).toEqual([]);
});

it.each(routes.filter(([, { callers }]) => callers.some((caller) => caller !== 'operator')))(
  'a new field of what a newer service asks breaks no older %s',
  (_name, { params, body }) => {
    expect([strictPlaces(params), strictPlaces(body)]).toEqual([[], []]);
  },
);

it('a price that the caller does not know makes no snapshot whose calls would be charged without it', () => {
  const price = Object.fromEntries(Object.keys(pricingSchema.shape).map((name) => [name, '0']));
  expect(pricingSchema.safeParse(price).success).toBe(true);
  expect(pricingSchema.safeParse({ ...price, per_second: '1' }).success).toBe(false);
});
