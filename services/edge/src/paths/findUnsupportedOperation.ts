/** Operations of the public convention that this service does not have. */
const UNSUPPORTED: Record<string, string> = {
  '/v1/fine-tuning': 'fine-tuning',
  '/v1/fine_tuning': 'fine-tuning',
  '/v1/assistants': 'assistants',
  '/v1/threads': 'threads',
  '/v1/runs': 'runs',
  '/v1/batches': 'batches',
  '/v1/files': 'files',
};

/** The name of the unsupported operation at a raw path or above it (specification, Endpoints, 5), if it is one. */
export function findUnsupportedOperation(rawPath: string): string | undefined {
  const [, version, resource] = rawPath.split('/', 3);
  const operation = `/${version}/${resource}`;
  return Object.hasOwn(UNSUPPORTED, operation) ? UNSUPPORTED[operation] : undefined;
}
