// Turns an OpenAPI 2 description or CRDs into one self-contained JSON schema per kind, named as kubeconform asks for them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

const [kind, out, ...files] = process.argv.slice(2);
const texts = files.map((file) => readFileSync(file, 'utf8'));
mkdirSync(out, { recursive: true });

/** Whether a member of a schema is documentation. A field may have the same name, but its value is a schema. */
const isSaid = (key, value) =>
  key === 'x-kubernetes-group-version-kind' || (['description', 'format'].includes(key) && typeof value === 'string');

/** An unknown field is an error, as under kubectl's strict validation; int-or-string is the one format JSON schema lacks. */
function tighten(node) {
  if (Array.isArray(node)) return node.map(tighten);
  if (node === null || typeof node !== 'object') return node;
  if (node['x-kubernetes-int-or-string'] || node.format === 'int-or-string') return { type: ['string', 'integer'] };
  const copy = Object.fromEntries(
    Object.entries(node)
      .filter(([key, value]) => !isSaid(key, value))
      .map(([key, value]) => [key, tighten(value)]),
  );
  if (
    node.properties &&
    node.type !== undefined &&
    typeof node.type === 'string' &&
    node.additionalProperties === undefined &&
    !node['x-kubernetes-preserve-unknown-fields']
  )
    copy.additionalProperties = false;
  if (node.nullable === true) copy.type = [node.type, 'null'];
  return copy;
}

const name = ({ group, version, kind }) =>
  `${kind}${group ? `-${group.split('.')[0]}` : ''}-${version}.json`.toLowerCase();
const pin = (schema, { group, version, kind }) => {
  schema.properties = {
    ...schema.properties,
    apiVersion: { const: group ? `${group}/${version}` : version },
    kind: { const: kind },
  };
  schema.required = [...new Set([...(schema.required ?? []), 'apiVersion', 'kind'])];
  return schema;
};

let count = 0;
if (kind === 'openapi') {
  const source = JSON.parse(texts[0]);
  const definitions = Object.fromEntries(
    Object.entries(source.definitions).map(([key, value]) => [key, tighten(value)]),
  );
  // Quantities are strings in the description; the server takes numbers too.
  definitions['io.k8s.apimachinery.pkg.api.resource.Quantity'] = { type: ['string', 'number'] };
  for (const [key, original] of Object.entries(source.definitions)) {
    const kinds = original['x-kubernetes-group-version-kind'] ?? [];
    if (kinds.length !== 1 || !original.properties?.metadata) continue;
    const used = new Map();
    const collect = (node) => {
      for (const [, ref] of JSON.stringify(node).matchAll(/"#\/definitions\/([^"]+)"/g)) {
        if (used.has(ref)) continue;
        used.set(ref, definitions[ref]);
        collect(definitions[ref]);
      }
    };
    collect(definitions[key]);
    writeFileSync(
      `${out}/${name(kinds[0])}`,
      JSON.stringify({ ...pin(structuredClone(definitions[key]), kinds[0]), definitions: Object.fromEntries(used) }),
    );
    count++;
  }
} else {
  const objects = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS()));
  for (const crd of objects.filter((object) => object?.kind === 'CustomResourceDefinition')) {
    for (const version of crd.spec.versions) {
      const gvk = { group: crd.spec.group, version: version.name, kind: crd.spec.names.kind };
      const schema = pin(tighten(version.schema.openAPIV3Schema), gvk);
      schema.properties.metadata = { type: 'object' };
      writeFileSync(`${out}/${name(gvk)}`, JSON.stringify(schema));
      count++;
    }
  }
}
console.error(`${count} schemas in ${out}`);
