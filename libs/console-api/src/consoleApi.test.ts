import { expect, it } from '@jest/globals';
import * as z from 'zod/mini';
import type { AnyConsoleRoute } from './console/consoleRoute.ts';
import { CONSOLE_APIS } from './consoleApi.ts';

const ROUTES = CONSOLE_APIS.flatMap(({ routes }) => Object.values<AnyConsoleRoute>(routes));

it('makes a route name its right or that it is public, and not both', () => {
  const route = { method: 'GET', path: '/console/x', promise: '', answer: z.object({}) } as const;
  const isPublic = { access: 'public', maxAgeSeconds: 1 } as const;
  // @ts-expect-error: a route of neither kind
  const neither: AnyConsoleRoute = route;
  // @ts-expect-error: a route of both kinds
  const both: AnyConsoleRoute = { ...route, ...isPublic, right: 'keys.read' };
  for (const other of ROUTES) expect([neither, both]).not.toContain(other);
  for (const { right, access } of ROUTES) expect([right, access].filter(Boolean)).toHaveLength(1);
});

it('shows the list of models alone to everyone', () => {
  expect(ROUTES.flatMap(({ access, path }) => (access ? [path] : []))).toEqual(['/console/models']);
});
