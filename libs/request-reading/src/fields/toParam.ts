/** Names that fields have. A longer or stranger one is some text of the client's, which no error repeats. */
const FIELD_NAME = /^[\w-]{1,64}$/;

/**
 * The place of a value in a body, as every 400 names it: `messages[2].content[0].type`. Ends before a key that is not like
 * the name of a field; null when that leaves nothing, or for the body itself.
 */
export function toParam(path: readonly PropertyKey[]): string | null {
  let param = '';
  for (const step of path) {
    const name = String(step);
    if (typeof step === 'number') param += `[${name}]`;
    else if (FIELD_NAME.test(name)) param += param === '' ? name : `.${name}`;
    else break;
  }
  return param === '' ? null : param;
}
