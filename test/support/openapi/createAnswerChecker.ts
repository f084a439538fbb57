import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { StreamEnd } from './createEventChecker.ts';
import { type DocumentedResponse, escapePointer, findResponse, type OpenApiDocument } from './readDocument.ts';

/** The beginning of an answer: all that is known before its body. */
export interface AnswerHead {
  method: string;
  /** Without the query. */
  path: string;
  status: number;
  headers: Headers;
}

/** The problems of an answer's head, and how its body is to be read. */
export interface CheckedHead {
  problems: string[];
  media: string;
  /** How it ends where it is a stream of events. */
  streamEnd: StreamEnd;
  /** Returns the problems of the body's JSON, or of one event's. */
  checkJson(value: unknown): string[];
}

export type AnswerChecker = (head: AnswerHead) => CheckedHead;

const DOCUMENT = 'openapi.json';
const NAMED_STREAMS = /^\/v1\/(?:responses|messages)$/;
const STREAMS_OF_MEDIA = /^\/v1\/(?:images|audio)\//;
/** Headers that mean something to clients: the document lists every one that an answer has. */
const LISTED_HEADER = /^(x-.*|request-id|retry-after|allow)$/;

/** Checks answers against the published document: status, headers, media type and bodies. Schemas are compiled once. */
export function createAnswerChecker(document: OpenApiDocument): AnswerChecker {
  // The schemas are not validated here, because docs/generator has a test for that.
  const shared = { validateSchema: false, meta: false };
  const ajv = new Ajv2020({
    ...shared,
    allErrors: true,
    allowUnionTypes: true,
    strictTypes: false,
    validateFormats: true,
  });
  const headerAjv = new Ajv2020({ ...shared, coerceTypes: true });
  for (const each of [ajv, headerAjv]) addFormats.default(each);
  // The document stands for one schema, so that references within it lead somewhere; its members are no keywords.
  ajv.addVocabulary([...Object.keys(document), 'x-support', 'x-support-note']);
  ajv.addSchema(document, DOCUMENT);
  const validators = new Map<string, ValidateFunction>();

  function compile(pointer: string): ValidateFunction {
    const known = validators.get(pointer);
    if (known) return known;
    const validate = ajv.compile({ $ref: `${DOCUMENT}${pointer}` });
    validators.set(pointer, validate);
    return validate;
  }

  const headerValidators = new Map<object, ValidateFunction>();

  /** A header's value is a text, also where its schema asks for a number: it stands in an object, where it can be coerced. */
  function compileHeader(schema: object): ValidateFunction {
    const known = headerValidators.get(schema);
    if (known) return known;
    const validate = headerAjv.compile({ type: 'object', properties: { value: schema } });
    headerValidators.set(schema, validate);
    return validate;
  }

  function checkHeaders({ headers: documented, ...response }: DocumentedResponse, headers: Headers): string[] {
    const problems = Object.entries(documented).flatMap(([name, { required, schema }]) => {
      const value = headers.get(name);
      if (value === null) return required ? [`has no ${name}`] : [];
      const validate = compileHeader(schema);
      return validate({ value }) ? [] : [`has ${name}: ${value}, which ${headerAjv.errorsText(validate.errors)}`];
    });
    const unlisted = [...headers.keys()].filter((name) => LISTED_HEADER.test(name) && !Object.hasOwn(documented, name));
    const sets = response['x-header-sets'] ?? [];
    const fitting = sets.filter(
      ({ required, absent }) =>
        required.every((name) => headers.has(name)) && !absent.some((name) => headers.has(name)),
    );
    return [
      ...problems,
      ...unlisted.map((name) => `has ${name}, which is not documented`),
      ...(sets.length > 0 && fitting.length !== 1 ? [`has the headers of ${fitting.length} of its causes`] : []),
    ];
  }

  return ({ method, path, status, headers }) => {
    const [media = ''] = (headers.get('content-type') ?? '').split(';');
    const streamEnd = STREAMS_OF_MEDIA.test(path) ? 'type' : NAMED_STREAMS.test(path) ? 'name' : '[DONE]';
    const found = findResponse(document, { method, path, status });
    const content = found?.response.content[media];
    if (!found) return { problems: ['has a status that is not documented'], media, streamEnd, checkJson: () => [] };
    const problems = checkHeaders(found.response, headers);
    if (!content)
      return {
        problems: [...problems, `is ${media || 'of no media type'}, which is not documented`],
        media,
        streamEnd,
        checkJson: () => [],
      };
    const pointer = `${found.pointer}/content/${escapePointer(media)}/schema`;
    return {
      problems,
      media,
      streamEnd,
      checkJson(value) {
        const validate = compile(pointer);
        return validate(value) ? [] : [ajv.errorsText(validate.errors, { dataVar: 'body' })];
      },
    };
  };
}
