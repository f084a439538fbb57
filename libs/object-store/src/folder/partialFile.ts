import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';

/** No key has a name with a dot in front, so none meets such a file. */
const PARTIAL = /^\.(.+)\.[0-9a-f-]{36}\.partial$/;

/** Another file each time, beside that which it becomes. */
export const toPartialPath = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${randomUUID()}.partial`);

/** The name that a partial file was to get; undefined where it is none. */
export const nameOfPartial = (name: string): string | undefined => PARTIAL.exec(name)?.[1];
