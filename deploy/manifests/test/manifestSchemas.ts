import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parseAllDocuments } from 'yaml';

type Node = { [field: string]: unknown };
interface Kind {
  group: string;
  version: string;
  kind: string;
}
interface CustomDefinition {
  kind?: string;
  spec: { group: string; names: { kind: string }; versions: { name: string; schema: { openAPIV3Schema: Node } }[] };
}

/** Says what is wrong with an object of Kubernetes; nothing where all is well. */
export type ManifestCheck = (manifest: { apiVersion: string; kind: string }) => string[];

/**
 * Reads the schemas of a folder, Kubernetes' own description and CRDs, as strict schemas. An unknown field is an error,
 * as in `kubectl apply --validate=strict`. An object of an unknown kind is an error too.
 */
export function readManifestCheck(folder: string): ManifestCheck {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const { definitions } = JSON.parse(readFileSync(join(folder, 'swagger.json'), 'utf8'));
  const strict = toStrict(definitions) as Record<string, Node>;
  // Said to be texts, and taken as numbers too.
  strict['io.k8s.apimachinery.pkg.api.resource.Quantity'] = { type: ['string', 'number'] };
  ajv.addSchema({ $id: 'kubernetes', definitions: strict });
  const places = new Map<string, string>();
  for (const [name, definition] of Object.entries<Node>(definitions)) {
    const kinds = (definition['x-kubernetes-group-version-kind'] as Kind[] | undefined) ?? [];
    for (const kind of kinds) places.set(toKey(kind), `kubernetes#/definitions/${name}`);
  }
  for (const definition of readCustomDefinitions(folder)) {
    const { group, names, versions } = definition.spec;
    for (const { name: version, schema } of versions) {
      const key = toKey({ group, version, kind: names.kind });
      const root = toStrict(schema.openAPIV3Schema) as { properties: Node };
      ajv.addSchema({ ...root, properties: { ...root.properties, metadata: { type: 'object' } } }, key);
      places.set(key, key);
    }
  }
  return (manifest) => {
    const place = places.get(`${manifest.apiVersion}/${manifest.kind}`);
    const validate = place === undefined ? undefined : ajv.getSchema(place);
    if (!validate) return [`nothing is known of ${manifest.apiVersion} ${manifest.kind}`];
    if (validate(manifest)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath}: ${message} ${JSON.stringify(params)}`,
    );
  };
}

const toKey = ({ group, version, kind }: Kind): string => `${group === '' ? '' : `${group}/`}${version}/${kind}`;

function readCustomDefinitions(folder: string): CustomDefinition[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  return files
    .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), 'utf8')))
    .map((document) => document.toJS() as CustomDefinition)
    .filter((definition) => definition?.kind === 'CustomResourceDefinition');
}

/** The same schema, in which no field is allowed that it does not name, and a number may stand where a text or number may. */
function toStrict(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(toStrict);
  if (node === null || typeof node !== 'object') return node;
  const source = node as Node;
  // Compared with true, as all of these are also names of fields: a CRD is described as well.
  if (source['x-kubernetes-int-or-string'] === true || source.format === 'int-or-string')
    return { type: ['string', 'integer'] };
  const copy: Node = Object.fromEntries(Object.entries(source).map(([key, value]) => [key, toStrict(value)]));
  const isOpen = source.additionalProperties !== undefined || source['x-kubernetes-preserve-unknown-fields'] === true;
  if (source.properties && source.type === 'object' && !isOpen) copy.additionalProperties = false;
  // Those of Go with flags in them: the API server reads them.
  if (typeof source.pattern === 'string' && !isPattern(source.pattern)) delete copy.pattern;
  if (source.nullable === true) copy.type = [source.type, 'null'];
  return copy;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') !== undefined;
  } catch {
    return false;
  }
}
