import { readFileSync } from 'node:fs';

/** A header of the published document, as far as an answer is checked by it. */
export interface DocumentedHeader {
  required: boolean;
  schema: object;
}

export interface DocumentedResponse {
  headers: Record<string, DocumentedHeader>;
  content: Record<string, { schema: object }>;
  'x-header-sets'?: { required: string[]; absent: string[] }[];
}

type Referable<T> = T | { $ref: string };

/** The published interface description, as far as answers are checked by it. */
export interface OpenApiDocument {
  paths: Record<string, Record<string, { responses: Record<string, Referable<DocumentedResponse>> }>>;
  components: { responses: Record<string, DocumentedResponse> };
}

const DOCS = new URL('../../../docs/', import.meta.url);

/** Reads the published file, not the schemas that it was written from. */
export const readDocument = (
  name: 'openapi.json' | `${'account' | 'console'}-openapi.json` = 'openapi.json',
): OpenApiDocument => JSON.parse(readFileSync(new URL(name, DOCS), 'utf8')) as OpenApiDocument;

/** A response of the document with the JSON pointer where it stands. */
export interface FoundResponse {
  pointer: string;
  response: DocumentedResponse;
}

/**
 * Returns the documented response for a method, path and status. It is the operation's response, the 405 of a path without the method, or
 * the shared `NotFound` of an unlisted path. Returns undefined if the document has none, which is a fault of the response.
 */
export function findResponse(
  document: OpenApiDocument,
  { method, path, status }: { method: string; path: string; status: number },
): FoundResponse | undefined {
  const template = Object.keys(document.paths).find((candidate) => toPattern(candidate).test(path));
  if (template === undefined) {
    const isNotFound = status === 404;
    return isNotFound ? resolve(document, { $ref: '#/components/responses/NotFound' }, '') : undefined;
  }
  const operations = document.paths[template] ?? {};
  const called = operations[method.toLowerCase()];
  const [name, operation] = called ? [method.toLowerCase(), called] : (Object.entries(operations)[0] ?? []);
  const isKnown = called !== undefined || status === 405 || status === 429;
  const response = isKnown ? operation?.responses[status] : undefined;
  if (response === undefined) return undefined;
  return resolve(document, response, `#/paths/${escapePointer(template)}/${name}/responses/${status}`);
}

/** Words that the public API has in the place of a video's id: nothing is served there. */
const NO_ID = '(?!(?:edits|extensions|characters)(?:/|$))';

/** The one path whose parameter may hold slashes. */
const MODEL_PATH = '/v1/models/{id}';

const toPattern = (template: string): RegExp => {
  const parameter = template === MODEL_PATH ? '[^/]+(?:/[^/]+)*' : `${NO_ID}[^/]+`;
  return new RegExp(`^${template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, parameter)}$`);
};

function resolve(document: OpenApiDocument, response: Referable<DocumentedResponse>, pointer: string): FoundResponse {
  if (!('$ref' in response)) return { pointer, response };
  const name = response.$ref.split('/').at(-1) ?? '';
  const shared = document.components.responses[name];
  if (shared === undefined) throw new Error(`the document has no ${response.$ref}`);
  return { pointer: response.$ref, response: shared };
}

/** A name as one step of a JSON pointer within a URI. */
export const escapePointer = (name: string): string =>
  encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
