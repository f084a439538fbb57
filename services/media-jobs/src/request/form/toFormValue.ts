import { ApiError } from '@turnpike/public-api/apiError';
import { findUnsendableText } from '@turnpike/request-reading/body/findUnsendableText';
import type { BodyFault } from '@turnpike/request-reading/faults/bodyFault';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { toParam } from '@turnpike/request-reading/fields/fieldReader';
import type { Form } from './readForm.ts';

/** The fields of a form that are not texts. */
export interface FormKinds {
  numbers?: readonly string[];
  booleans?: readonly string[];
  lists?: readonly string[];
}

/** `name`, `name[]` of a list and `name[key]` of an object. */
const FIELD = /^([^[\]]+)(?:\[([^[\]]*)\])?$/;
/** Plain digits without leading zeros. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

type Value = string | number | boolean | Value[] | { [key: string]: Value };

/**
 * Converts the texts of a form to the equal JSON value. Brackets make lists and objects; fields of these kinds become
 * numbers and booleans. A malformed text stays as it is, so that the schema refuses it. An empty text counts as absent,
 * because a form has no null. Throws `invalid_request` for a repeated field.
 */
export function toFormValue({ texts }: Pick<Form, 'texts'>, kinds: FormKinds): Record<string, unknown> {
  const fields: Record<string, Value> = Object.create(null);
  for (const { name, value } of texts) {
    if (value === '') continue;
    const [, base = name, key] = FIELD.exec(name) ?? [];
    const isList = key === '' || (key === undefined && kinds.lists?.includes(base));
    const field = fields[base];
    if (isList && (field === undefined || Array.isArray(field))) {
      fields[base] = [...(field ?? []), value];
    } else if (
      key !== undefined &&
      key !== '' &&
      (field === undefined || isObject(field)) &&
      field?.[key] === undefined
    ) {
      const object: { [key: string]: Value } = field ?? Object.create(null);
      object[key] = value;
      fields[base] = object;
    } else if (field === undefined) {
      fields[base] = toScalar(base, value, kinds);
    } else {
      const param = toParam([base]);
      throw invalidRequest(param, `${param ?? 'A field'} is given more than once`);
    }
  }
  const unsendable = findUnsendableText(fields);
  if (unsendable)
    throw new ApiError<BodyFault>({
      kind: 'body_text_unsendable',
      has: unsendable.has,
      param: toParam(unsendable.path),
    });
  return fields;
}

const isObject = (value: Value): value is { [key: string]: Value } =>
  typeof value === 'object' && !Array.isArray(value);

function toScalar(name: string, value: string, { numbers, booleans }: FormKinds): Value {
  if (numbers?.includes(name) && NUMBER.test(value)) return Number(value);
  if (booleans?.includes(name) && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  return value;
}
