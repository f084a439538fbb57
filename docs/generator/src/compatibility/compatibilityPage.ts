import { join } from 'node:path';
import { ENGINE_CONTROL_KEYS } from '@turnpike/public-api/requestFields';
import { formatRows } from '../formatReference.ts';
import type { JsonSchema } from '../openapi/jsonSchema.ts';
import { type OpenApiDocument, toOpenApiDocument } from '../openapi/openApiDocument.ts';
import type { Operation } from '../openapi/operation.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { auditSdk } from './auditSdk.ts';
import { type FieldSupport, listFields } from './listFields.ts';
import { readSdk, type Sdk } from './readSdkTypes.ts';
import { SDK_AUDIT } from './sdkAudit.ts';

export const COMPATIBILITY_FILE = join(repositoryRoot, 'docs/compatibility.md');

const JSON_TYPE = 'application/json';
const EVENTS_TYPE = 'text/event-stream';
const FORM_TYPE = 'multipart/form-data';
const ANY_OTHER = 'any other field';
const FORWARDED: FieldSupport = {
  field: ANY_OTHER,
  support: 'partial',
  note: 'Forwarded to the engine, which takes, ignores or refuses it.',
};
const DROPPED: FieldSupport = { field: ANY_OTHER, support: 'no', note: 'Dropped.' };
/** Operations whose requests are written anew. */
const REWRITTEN = new Set(['createResponse', 'createMessage', 'countMessageTokens']);
const REFUSED: FieldSupport = { field: ANY_OTHER, support: 'no', note: '422.' };

/** The compatibility matrix: every field of every operation, ours and the pinned SDK's. Throws when the SDK awaits its audit. */
export function renderCompatibility(): string {
  const sdk = readSdk();
  const document = toOpenApiDocument();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      formatOperation(`${method.toUpperCase()} ${path}`, operation, document, sdk),
    ),
  );
  return [formatHead(sdk.version), ...operations, formatControlKeys()].join('\n\n').concat('\n');
}

const formatHead = (version: string): string =>
  `# Compatibility

<!-- Written by npm run docs from the schemas that the services run on. -->

For API clients: which fields of the public chat API work here. Fields with the same note share a row. The page is audited
against the npm package \`openai\` ${version}, which the system tests use. After an upgrade of the package, a test fails
until its new fields are audited.

- **yes**: as in the public API, or as the note says.
- **partial**: with the limits in the note. A serving engine takes, ignores or refuses a forwarded field.
- **no**: refused, ignored or never present, as the note says.

The [interface description](openapi.json) has the types.`;

function formatOperation(name: string, operation: Operation, { components }: OpenApiDocument, sdk: Sdk): string {
  const tabulate = (part: 'request' | 'answer' | 'events', schema: JsonSchema, last: FieldSupport[]): string => {
    const known = listFields(schema, components.schemas);
    const audit = SDK_AUDIT[`${operation.operationId} ${part}`];
    return formatTable([...known, ...(audit ? auditSdk(sdk, audit, known) : []), ...last]);
  };
  const parts = [`## ${name}`, operation.summary];
  const parameters = (operation.parameters ?? []).map(
    ({ name: field, description: note }): FieldSupport => ({ field, support: 'yes', note }),
  );
  const { [JSON_TYPE]: json, [FORM_TYPE]: form } = operation.requestBody?.content ?? {};
  const request = json ?? form;
  const isRewritten = REWRITTEN.has(operation.operationId);
  const anyOther = operation.tags.includes('Media') ? REFUSED : isRewritten ? DROPPED : FORWARDED;
  if (request) parts.push('### Request', tabulate('request', request.schema, [anyOther]));
  if (parameters.length > 0) parts.push('### Parameters', formatTable(parameters));
  const answer = operation.responses[200] ?? operation.responses[202];
  if (answer === undefined || !('content' in answer)) throw new Error(`${name} has no answer`);
  const { [JSON_TYPE]: whole, [EVENTS_TYPE]: events } = answer.content;
  if (whole) parts.push('### Answer', tabulate('answer', whole.schema, []));
  const [chunk] = events?.schema.anyOf ?? (events ? [events.schema] : []);
  if (chunk) parts.push('### Events, with `stream`', tabulate('events', chunk, []));
  return parts.join('\n\n');
}

/** A row for each statement, with all the fields of which it is true. */
const formatTable = (rows: FieldSupport[]): string =>
  formatRows(
    ['fields', 'supported', 'notes'],
    Map.groupBy(rows, ({ support, note }) => `${support} | ${note}`)
      .values()
      .map(([first, ...others]) => [
        [first, ...others].map((row) => toFieldText(row?.field ?? '')).join(', '),
        first?.support ?? '',
        first?.note ?? '',
      ])
      .toArray(),
  );

const toFieldText = (field: string): string => (field.includes(' ') && !field.includes('(') ? field : `\`${field}\``);

const formatControlKeys = (): string =>
  `## Fields that no client may set

They steer the serving engine instead of the model, affect other tenants, or cost more than the hold of a call. In the body
of a chat, completion or embedding each is 400, with its name as \`param\`. So is \`chat_template_kwargs\` with anything but
\`enable_thinking\`.

${[...ENGINE_CONTROL_KEYS].map((key) => `- \`${key}\``).join('\n')}`;
