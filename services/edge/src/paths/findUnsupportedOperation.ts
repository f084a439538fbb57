/** Operations of the public convention that this service does not have. */
const UNSUPPORTED: Record<string, string> = {
  '/v1/fine-tuning': 'Fine-tuning',
  '/v1/fine_tuning': 'Fine-tuning',
  '/v1/assistants': 'Assistants',
  '/v1/threads': 'Threads',
  '/v1/runs': 'Runs',
  '/v1/batches': 'Batches',
  '/v1/files': 'Files',
};

/** The name of the unsupported operation at a raw path or above it (specification, Endpoints, 5), if it is one. */
export function findUnsupportedOperation(rawPath: string): string | undefined {
  const [, version, resource] = rawPath.split('/', 3);
  const operation = `/${version}/${resource}`;
  return Object.hasOwn(UNSUPPORTED, operation) ? UNSUPPORTED[operation] : undefined;
}
