/** The paths that engines serve. Each name is what a fault's rule and the log call it. */
export const ROUTES = [
  'GET /health',
  'GET /v1/models',
  'POST /v1/images/generations',
  'GET /v1/images/{id}/content',
  'POST /v1/videos',
  'GET /v1/videos',
  'GET /v1/videos/{id}',
  'DELETE /v1/videos/{id}',
  'GET /v1/videos/{id}/content',
  'POST /v1/audio/speech',
  'GET /v1/audio/voices',
  'POST /v1/audio/transcriptions',
  'POST /v1/audio/translations',
] as const;
export type Route = (typeof ROUTES)[number];

const PATTERNS = ROUTES.map((route) => {
  const [method = '', path = ''] = route.split(' ');
  return { route, method, pattern: new RegExp(`^${path.replace('{id}', '([^/]+)')}$`) };
});

/** The route of a request and the id in its path; where only the method is wrong, those that the path has. */
export function matchRoute(
  method: string,
  path: string,
): { route: Route; id: string } | { route: undefined; methods: string[] } {
  const fitting = PATTERNS.filter(({ pattern }) => pattern.test(path));
  const match = fitting.find((entry) => entry.method === method);
  if (!match) return { route: undefined, methods: fitting.map((entry) => entry.method) };
  return { route: match.route, id: match.pattern.exec(path)?.[1] ?? '' };
}
