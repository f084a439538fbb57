/** With an extension on the last name alone, no object's file is another one's folder; without a dot in front, none leads out. */
const KEY = /^(?:[\w-]{1,128}\/){0,8}(?=[\w.-]{1,128}$)[\w-]+(?:\.[\w-]+)+$/;
const PREFIX = /^(?:[\w-]{1,128}\/){0,8}(?:[\w-][\w.-]{0,127})?$/;

export const isObjectKey = (text: string): boolean => KEY.test(text);

/** Throws a `TypeError` on what is no key. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new TypeError(`not a key of the object store: ${JSON.stringify(key)}`);
}

/** Throws a `TypeError` on what no key begins with. */
export function assertKeyPrefix(prefix: string): void {
  if (!PREFIX.test(prefix)) throw new TypeError(`no key of the object store begins with ${JSON.stringify(prefix)}`);
}
